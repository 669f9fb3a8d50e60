// The claims of access and ID tokens, for applications and for users.
import { defined } from '@switchyard/contract';
import type { AuthenticationMethod, User } from '../accounts/types.ts';
import type { Application } from '../clients/application-record.ts';
import { effectivePermissions } from '../clients/permissions.ts';
import type { Realm } from '../realms-and-keys/realm-types.ts';
import {
  authenticationClaims,
  locationClaims,
  type SignInDevice,
} from './authentication-claims.ts';

/** The claim `typ` separates access tokens from ID tokens, which the same keys sign. */
export const accessTokenTypClaim = 'Bearer';
export const idTokenTypClaim = 'ID';

type TokenInput = {
  readonly realm: Realm;
  readonly application: Application;
  readonly tokenId: string;
  /** Seconds since 1970 (NumericDate of RFC 7519). */
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly device?: SignInDevice | undefined;
  /** The thumbprint of the certificate to which the token is bound (RFC 8705). */
  readonly certificate?: string | undefined;
};

export type MachineTokenInput = TokenInput & { readonly scope: string | undefined };

export type UserTokenInput = TokenInput & {
  readonly user: User;
  /** The granted scopes, separated by spaces. */
  readonly scope: string;
  /** The refresh-token family: the same in all tokens of a sign-in. */
  readonly sessionId: string;
  readonly methods: readonly AuthenticationMethod[];
  /** Epoch milliseconds. */
  readonly authenticatedAt: number;
  readonly nonce?: string | undefined;
};

const scopeSet = (scope: string | undefined): ReadonlySet<string> =>
  new Set(scope?.split(' ') ?? []);

/** The claims that the specification requires in every token. */
function registeredClaims(input: TokenInput, subject: string): Record<string, unknown> {
  const { realm, application, tokenId, issuedAt, expiresAt } = input;
  return {
    iss: realm.issuer,
    sub: subject,
    aud: application.clientId,
    azp: application.clientId,
    exp: expiresAt,
    nbf: issuedAt,
    iat: issuedAt,
    jti: tokenId,
  };
}

function accessClaims(input: TokenInput, subject: string, scope: string | undefined) {
  const { application, certificate, device } = input;
  return {
    ...registeredClaims(input, subject),
    client_id: application.clientId,
    typ: accessTokenTypClaim,
    scope,
    ...locationClaims({ storeId: application.storeId, ...device }),
    ...defined({ cnf: certificate === undefined ? undefined : { 'x5t#S256': certificate } }),
  };
}

/** An external application is no terminal: its device_id is its client id. */
function machineAuthenticationClaims({
  application,
  device,
}: MachineTokenInput): Record<string, unknown> {
  if (device !== undefined) return authenticationClaims(device, []);
  return {
    device_type: 'ExternalMachine',
    device_id: application.clientId,
    method: 'api',
    ...authenticationClaims(undefined, []),
  };
}

/** Every machine token has entityId, permissions and user_domain, in every scope. */
export function machineAccessTokenClaims(input: MachineTokenInput): Record<string, unknown> {
  const { realm, application, scope } = input;
  const { entityId, entityType } = application;
  return {
    ...accessClaims(input, application.serviceAccountId, scope),
    user_domain: realm.userDomainId,
    entityId,
    um_scope: { entityId, entityType },
    permissions: application.permissions,
    groups: [],
    ...(scopeSet(scope).has('auth') ? machineAuthenticationClaims(input) : {}),
  };
}

/** ID token of a device that acts for itself: names the device and its merchant. */
export function machineIdTokenClaims(input: MachineTokenInput): Record<string, unknown> {
  const { realm, application, scope } = input;
  return {
    ...registeredClaims(input, application.serviceAccountId),
    typ: idTokenTypClaim,
    user_domain: realm.userDomainId,
    entityId: application.entityId,
    ...(scopeSet(scope).has('auth') ? machineAuthenticationClaims(input) : {}),
  };
}

/** Unknown claims are left out, as OpenID Connect Core, 5.3.2, requires. */
function withoutUndefined(claims: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
}

function profileClaims(user: User): Record<string, unknown> {
  const names = [user.givenName, user.familyName].filter((name) => name !== undefined);
  return {
    name: names.length === 0 ? user.username : names.join(' '),
    given_name: user.givenName,
    family_name: user.familyName,
    preferred_username: user.username,
    zoneinfo: user.zoneinfo,
    locale: user.locale,
    datetimeformat: user.datetimeFormat,
  };
}

function phoneClaims({ phoneNumber, phoneNumberVerified }: User): Record<string, unknown> {
  if (phoneNumber === undefined) return {};
  return { phone_number: phoneNumber, phone_number_verified: phoneNumberVerified };
}

/**
 * The userinfo claims by scope. `email_verified` is always true: sign-in requires a verified
 * address.
 */
export function userInfoClaims(user: User, scope: string): Record<string, unknown> {
  const granted = scopeSet(scope);
  return withoutUndefined({
    ...(granted.has('profile') ? profileClaims(user) : {}),
    ...(granted.has('email') ? { email: user.email, email_verified: true } : {}),
    ...(granted.has('phone') ? phoneClaims(user) : {}),
    ...(granted.has('address') ? { address: user.address } : {}),
  });
}

function customClaims({ realm, user, scope, device, methods }: UserTokenInput) {
  const granted = scopeSet(scope);
  return {
    ...(granted.has('profile')
      ? {
          user_domain: realm.userDomainId,
          groups: user.groups,
          entityId: user.entityId,
          um_scope: { entityId: user.scopeEntityId, entityType: user.scopeEntityType },
          permissions: effectivePermissions(device !== undefined, user.permissions),
        }
      : {}),
    ...(granted.has('auth') ? authenticationClaims(device, methods) : {}),
  };
}

/** The access token of a user; the API reads other facts of the user by `sub`. */
export function userAccessTokenClaims(input: UserTokenInput): Record<string, unknown> {
  const { user, scope, sessionId } = input;
  return {
    ...accessClaims(input, user.userId, scope),
    sid: sessionId,
    ...userInfoClaims(user, scope),
    ...customClaims(input),
  };
}

/** The ID token of a user; the API does not accept it. */
export function idTokenClaims(input: UserTokenInput): Record<string, unknown> {
  const { user, scope, sessionId, authenticatedAt, nonce } = input;
  return withoutUndefined({
    ...registeredClaims(input, user.userId),
    typ: idTokenTypClaim,
    sid: sessionId,
    auth_time: Math.floor(authenticatedAt / 1000),
    nonce,
    ...userInfoClaims(user, scope),
    ...customClaims(input),
  });
}
