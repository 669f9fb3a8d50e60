// The tokens with which registered devices connect: JWTs for one connection each, good on every node.
import { defined } from '@switchyard/contract';
import { errors, jwtVerify, SignJWT } from 'jose';
import { type Clock, deriveKey } from '../platform/index.ts';

const audience = 'cloud-connector/device';
const algorithm = 'HS256';
/** Between the clocks of nodes; an expired token has no such grace. */
const skewSeconds = 30;

/** Whom a token lets in, and as which connection. */
export type ConnectionFacts = {
  readonly organizationId: string;
  readonly physicalDeviceId: string;
  readonly logicalDeviceId: string;
  readonly tsn: string;
  /** A secret: the end of the address, and `jti`. */
  readonly connectionId: string;
  /** The number of the registration among those of the device. */
  readonly order: number;
  /** The certificate that the device registered with, where it showed one. */
  readonly thumbprint?: string;
  /** The application that it registered by, where it showed none. */
  readonly clientId?: string;
};

type Deps = {
  readonly masterKey: Buffer;
  readonly clock: Clock;
  readonly issuer: string;
  readonly node: string;
  readonly lifeMs: number;
};

/** @example const tokens = createConnectionTokens(deps); const token = await tokens.sign(facts); */
export function createConnectionTokens({ masterKey, clock, issuer, node, lifeMs }: Deps) {
  // Read once: thousands of devices come back within seconds.
  const opened = crypto.subtle.importKey(
    'raw',
    deriveKey(masterKey, 'connector-device-connections'),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign', 'verify'],
  );
  return {
    async sign(facts: ConnectionFacts): Promise<string> {
      const { organizationId, physicalDeviceId, logicalDeviceId, tsn } = facts;
      const { connectionId, order, thumbprint, clientId } = facts;
      const now = Math.floor(clock.now() / 1000);
      const bound = thumbprint === undefined ? {} : { cnf: { 'x5t#S256': thumbprint } };
      const by = defined({ clientId });
      const own = { organizationId, physicalDeviceId, tsn, cid: connectionId, order, node };
      return new SignJWT({ ...own, ...bound, ...by })
        .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(logicalDeviceId)
        .setJti(connectionId)
        .setIssuedAt(now)
        .setNotBefore(now)
        .setExpirationTime(now + Math.ceil(lifeMs / 1000))
        .sign(await opened);
    },
    /** Rejects what is not ours, not for this, or out of date. */
    async verify(token: string): Promise<ConnectionFacts> {
      const now = clock.now();
      const { payload } = await jwtVerify(token, await opened, {
        algorithms: [algorithm],
        audience,
        issuer,
        typ: 'JWT',
        requiredClaims: ['exp', 'nbf', 'iat', 'jti', 'sub'],
        clockTolerance: skewSeconds,
        currentDate: new Date(now),
      });
      if (Number(payload.exp) * 1000 <= now) throw new errors.JWTExpired('expired', payload);
      const { cnf, organizationId, physicalDeviceId, tsn, jti, sub, order, clientId } = payload;
      const thumbprint = (cnf as Record<string, unknown> | undefined)?.['x5t#S256'];
      return {
        organizationId: String(organizationId),
        physicalDeviceId: String(physicalDeviceId),
        logicalDeviceId: String(sub),
        tsn: String(tsn),
        connectionId: String(jti),
        order: Number(order),
        ...defined({
          thumbprint: thumbprint === undefined ? undefined : String(thumbprint),
          clientId: clientId === undefined ? undefined : String(clientId),
        }),
      };
    },
  };
}
