// The portal's own application: part of every user domain from its first moment, and a row of none (ADR 0063).
import { createHmac } from 'node:crypto';
import { deriveKey } from '../../platform/index.ts';
import type { BuiltInApplication } from './applications.ts';
import { type PortalUrls, portalRedirectUris } from './portal-urls.ts';

export const portalClientId = 'switchyard-portal';

type Deps = {
  readonly portalUrls: PortalUrls;
  /** 32 bytes; what takes the place of a secret is derived from it. */
  readonly masterKey: Buffer;
  findDomainOfOrganization(organizationId: string): Promise<string | undefined>;
};

/** The form of a random UUID: no user and no other application has it. */
function uuidFrom(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  const third = `4${hex.slice(13, 16)}`;
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    third,
    variant + hex.slice(18, 20),
    hex.slice(20, 32),
  ].join('-');
}

/**
 * It follows the settings and not what once was stored: another port or domain needs no change of any
 * row. Nobody knows a secret with its hash, so that codes and refresh tokens of it are good in this
 * platform's own processes alone.
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
