// Signs and verifies the JWT with which a registered device opens one connection, on any node.
import { defined } from '@switchyard/contract';
import { errors, jwtVerify, SignJWT } from 'jose';
import { type Clock, deriveKey } from '../../platform/index.ts';

const audience = 'cloud-connector/device';
const algorithm = 'HS256';
/** The allowed clock difference between nodes; it does not extend the life of a token. */
const clockSkewSeconds = 30;

/** The device that a token admits, and the connection that it allows. */
export type ConnectionTokenClaims = {
  readonly organizationId: string;
  readonly physicalDeviceId: string;
  readonly logicalDeviceId: string;
  readonly tsn: string;
  /** A secret: the last part of the connection address, and the `jti` of the token. */
  readonly connectionId: string;
  /** The number of this registration among all registrations of the device. */
  readonly order: number;
  /** The certificate with which the device registered, if it presented one. */
  readonly thumbprint?: string;
  /** The application with which the device registered, if it presented no certificate. */
  readonly clientId?: string;
};

type Deps = {
  readonly masterKey: Buffer;
  readonly clock: Clock;
  readonly issuer: string;
  readonly node: string;
  readonly lifeMs: number;
};

/** @example const tokens = createConnectionTokens(deps); const token = await tokens.sign(claims); */
export function createConnectionTokens({ masterKey, clock, issuer, node, lifeMs }: Deps) {
  // The server imports the key once, because thousands of devices may reconnect within seconds.
  const signingKey = crypto.subtle.importKey(
    'raw',
    deriveKey(masterKey, 'connector-device-connections'),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign', 'verify'],
  );
  return {
    async sign(claims: ConnectionTokenClaims): Promise<string> {
      const { organizationId, physicalDeviceId, logicalDeviceId, tsn } = claims;
      const { connectionId, order, thumbprint, clientId } = claims;
      const now = Math.floor(clock.now() / 1000);
      const certificateClaim = thumbprint === undefined ? {} : { cnf: { 'x5t#S256': thumbprint } };
      const clientClaim = defined({ clientId });
      const deviceClaims = {
        organizationId,
        physicalDeviceId,
        tsn,
        cid: connectionId,
        order,
        node,
      };
      return new SignJWT({ ...deviceClaims, ...certificateClaim, ...clientClaim })
        .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(logicalDeviceId)
        .setJti(connectionId)
        .setIssuedAt(now)
        .setNotBefore(now)
        .setExpirationTime(now + Math.ceil(lifeMs / 1000))
        .sign(await signingKey);
    },
    /** Rejects a token that is expired or has a wrong signature, issuer or audience. */
    async verify(token: string): Promise<ConnectionTokenClaims> {
      const now = clock.now();
      const { payload } = await jwtVerify(token, await signingKey, {
        algorithms: [algorithm],
        audience,
        issuer,
        typ: 'JWT',
        requiredClaims: ['exp', 'nbf', 'iat', 'jti', 'sub'],
        clockTolerance: clockSkewSeconds,
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
