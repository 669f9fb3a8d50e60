// The portal's own application: part of every user domain from its first moment, and a row of none (ADR 0063).
import { createHmac } from 'node:crypto';
import { deriveKey } from '../../platform/index.ts';
import type { BuiltIn } from './applications.ts';
import { type PortalPlaces, redirectUrisOf } from './portal-urls.ts';

export const portalClientId = 'switchyard-portal';

type Deps = {
  readonly places: PortalPlaces;
  /** 32 bytes; what takes the place of a secret is derived from it. */
  readonly masterKey: Buffer;
  domainOf(organizationId: string): Promise<string | undefined>;
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
export function createPortalApplication({ places, masterKey, domainOf }: Deps): BuiltIn {
  const key = deriveKey(masterKey, 'portal-application');
  const derived = (purpose: string, organizationId: string) =>
    createHmac('sha256', key).update(`${purpose} ${organizationId}`).digest();
  return {
    clientId: portalClientId,
    async of(organizationId) {
      const userDomainId = await domainOf(organizationId);
      if (userDomainId === undefined) return undefined;
      return {
        organizationId,
        clientId: portalClientId,
        serviceAccountId: uuidFrom(derived('account', organizationId)),
        name: 'Switchyard Portal',
        type: 'Application',
        entityType: 'tenant',
        entityId: organizationId,
        roles: [],
        permissions: [],
        securityFlows: ['AuthorizationCode'],
        redirectUris: redirectUrisOf(places, userDomainId),
        webOrigins: [],
        services: [],
        callbackError: 'Rfc6749',
        accessTokenType: 'JWT',
        secretHash: derived('secret', organizationId),
        status: 'Enabled',
      };
    },
  };
}
