// Authenticates applications that do not use the token endpoint, and rechecks permissions of open
// connections.
import { defined, type Permission } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { Clock } from '../../platform/index.ts';
import type { User } from '../accounts/types.ts';
import type { ApplicationStore } from '../clients/application-sql.ts';
import type { Applications } from '../clients/applications.ts';
import type { Devices } from '../devices/index.ts';
import { createCachedLookup } from '../infrastructure/cached-lookup.ts';
import { hashSecret } from '../infrastructure/secret-hash.ts';
import type { Realms } from '../realms-and-keys/realms.ts';
import type { RevokedTokens } from '../tokens/revoked-tokens.ts';
import { isUserSessionValid } from '../tokens/user-session-validity.ts';

/** An application that authenticated with its secret. */
export type VerifiedClient = {
  readonly organizationId: string;
  readonly clientId: string;
  /** Missing both: the application acts for the whole organisation. */
  readonly merchantId?: string;
  readonly storeId?: string;
  readonly permissions: readonly Permission[];
};

export type ClientVerifier = {
  /** Undefined if the token endpoint would refuse the client too. */
  verify(
    organizationId: string,
    clientId: string,
    secret: string,
  ): Promise<VerifiedClient | undefined>;
  /** The same without an organisation: rarely more than one matches. */
  verifyInAnyOrganization(clientId: string, secret: string): Promise<readonly VerifiedClient[]>;
  /** Whether the secret was issued to the holder of this certificate. */
  verifyDeviceSecret(
    certificate: { readonly organizationId: string; readonly thumbprint: string },
    clientId: string,
    secret: string,
  ): Promise<boolean>;
  /** The thumbprints of active certificates, in one query. */
  findActiveCertificates(
    holders: readonly { readonly organizationId: string; readonly thumbprint: string }[],
  ): Promise<ReadonlySet<string>>;
  /**
   * The current permissions of an application; undefined if it is missing or disabled. Changes in
   * other processes appear within seconds.
   */
  currentPermissions(
    organizationId: string,
    clientId: string,
  ): Promise<readonly Permission[] | undefined>;
  /**
   * The same for a connection that authenticated with a token; undefined also if the token was
   * revoked, its key replaced at once, or its user signed out or disabled.
   */
  currentPermissionsOfToken(token: VerifiedToken): Promise<readonly Permission[] | undefined>;
};

/** The facts of a token that was verified before. */
type VerifiedToken = Pick<
  Caller,
  | 'realm'
  | 'organizationId'
  | 'clientId'
  | 'tokenId'
  | 'keyId'
  | 'expiresAt'
  | 'userId'
  | 'signInId'
  | 'issuedAt'
>;

type Deps = {
  readonly applications: Pick<Applications, 'find' | 'verifySecret'>;
  readonly applicationStore: Pick<ApplicationStore, 'findOrganizations'>;
  readonly devices: Pick<Devices, 'verifySecret' | 'findActiveCertificates'>;
  readonly realms: Pick<Realms, 'find'>;
  readonly revocations: Pick<RevokedTokens, 'findReason'>;
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
  readonly clock: Clock;
};

const maxCachedOwners = 10_000;
const ownersCacheTtlMs = 5000;

type PresentedCredentials = { readonly clientId: string; readonly secretHash: Buffer };

export function createClientVerifier(deps: Deps): ClientVerifier {
  const { applications, applicationStore, devices, clock } = deps;
  // Finds candidates without authenticating them; thousands of devices reconnect with the same
  // credentials.
  const owners = createCachedLookup<PresentedCredentials, readonly string[]>({
    max: maxCachedOwners,
    ttlMs: ownersCacheTtlMs,
    clock,
    keyOf: ({ clientId, secretHash }) => `${clientId}/${secretHash.toString('base64url')}`,
    async load({ clientId, secretHash }) {
      const organizationIds = await applicationStore.findOrganizations(clientId, secretHash);
      return organizationIds.length === 0 ? undefined : organizationIds;
    },
  });

  async function verify(
    organizationId: string,
    clientId: string,
    secret: string,
  ): Promise<VerifiedClient | undefined> {
    const application = await applications.find(organizationId, clientId);
    if (application?.status !== 'Enabled') return undefined;
    if (!application.securityFlows.includes('ClientCredentials')) return undefined;
    if (!(await applications.verifySecret(organizationId, clientId, secret))) return undefined;
    const { entityType, entityId, storeId, permissions } = application;
    return {
      organizationId,
      clientId,
      permissions,
      ...(entityType === 'merchant' ? { merchantId: entityId } : {}),
      ...defined({ storeId }),
    };
  }

  async function currentPermissions(organizationId: string, clientId: string) {
    const application = await applications.find(organizationId, clientId);
    return application?.status === 'Enabled' ? application.permissions : undefined;
  }

  return {
    verify,
    currentPermissions,
    async verifyInAnyOrganization(clientId, secret) {
      const organizations = (await owners.find({ clientId, secretHash: hashSecret(secret) })) ?? [];
      const verified = await Promise.all(organizations.map((id) => verify(id, clientId, secret)));
      return verified.filter((client) => client !== undefined);
    },
    async verifyDeviceSecret(certificate, clientId, secret) {
      const application = await applications.find(certificate.organizationId, clientId);
      return (
        application?.status === 'Enabled' && devices.verifySecret(certificate, clientId, secret)
      );
    },
    findActiveCertificates: (holders) => devices.findActiveCertificates(holders),
    async currentPermissionsOfToken({ realm: name, organizationId, clientId, userId, ...token }) {
      const realm = await deps.realms.find(name);
      if (realm === undefined) return undefined;
      const { tokenId, keyId, expiresAt, issuedAt = 0, signInId } = token;
      // Tokens of a key that was replaced at once are no longer valid.
      if (keyId !== undefined && !realm.keys.has(keyId)) return undefined;
      const sessionId = defined({ sessionId: signInId });
      const reason = await deps.revocations.findReason(realm, { tokenId, expiresAt, ...sessionId });
      if (reason !== undefined) return undefined;
      const permissions = await currentPermissions(organizationId, clientId);
      if (permissions === undefined || userId === undefined) return permissions;
      const user = await deps.findUser(organizationId, userId);
      return isUserSessionValid(user, issuedAt) ? user.permissions : undefined;
    },
  };
}
