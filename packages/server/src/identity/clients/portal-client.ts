// The OAuth client of the portal: built into every user domain, without a database row (ADR 0063).
import { createHmac } from 'node:crypto';
import { bytesToUuid, deriveKey } from '../../platform/index.ts';
import type { BuiltInApplication } from './applications.ts';
import { type PortalUrls, portalRedirectUris } from './portal-urls.ts';

export const portalClientId = 'switchyard-portal';

type Deps = {
  readonly portalUrls: PortalUrls;
  /** 32 bytes; the value that replaces a secret hash is derived from it. */
  readonly masterKey: Buffer;
  findDomainOfOrganization(organizationId: string): Promise<string | undefined>;
};

/** Formats derived bytes as a version 4 UUID; no user or other application has the same. */
function uuidFrom(bytes: Buffer): string {
  const uuid = bytes.subarray(0, 16);
  uuid[6] = ((uuid[6] ?? 0) & 0x0f) | 0x40;
  uuid[8] = ((uuid[8] ?? 0) & 0x3f) | 0x80;
  return bytesToUuid(uuid);
}

/**
 * Follows the settings, so another port or domain needs no database change. No secret has this
 * derived hash, so only this platform's processes can redeem its codes and refresh tokens.
 */
export function createPortalClient({
  portalUrls,
  masterKey,
  findDomainOfOrganization,
}: Deps): BuiltInApplication {
  const key = deriveKey(masterKey, 'portal-application');
  const deriveBytes = (purpose: string, organizationId: string) =>
    createHmac('sha256', key).update(`${purpose} ${organizationId}`).digest();
  return {
    clientId: portalClientId,
    async findForOrganization(organizationId) {
      const userDomainId = await findDomainOfOrganization(organizationId);
      if (userDomainId === undefined) return undefined;
      return {
        organizationId,
        clientId: portalClientId,
        serviceAccountId: uuidFrom(deriveBytes('account', organizationId)),
        name: 'Switchyard Portal',
        type: 'Application',
        entityType: 'tenant',
        entityId: organizationId,
        roles: [],
        permissions: [],
        securityFlows: ['AuthorizationCode'],
        redirectUris: portalRedirectUris(portalUrls, userDomainId),
        webOrigins: [],
        services: [],
        callbackError: 'Rfc6749',
        accessTokenType: 'JWT',
        secretHash: deriveBytes('secret', organizationId),
        status: 'Enabled',
      };
    },
  };
}
