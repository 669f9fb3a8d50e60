// What stands in the tokens: of an application that acts for itself, and of a person.
import { defined } from '@switchyard/contract';
import type { Method, User } from '../accounts/types.ts';
import type { Application } from '../clients/application.ts';
import { permissionsAt } from '../clients/permissions.ts';
import type { Realm } from '../realms-and-keys/realm.ts';
import { authClaims, type DeviceFacts, placeClaims } from './authentication-claims.ts';

/** Tell access tokens from ID and refresh tokens, which the same keys sign. */
export const accessTokenType = 'Bearer';
export const idTokenType = 'ID';

type Issue = {
  readonly realm: Realm;
  readonly application: Application;
  readonly tokenId: string;
  /** Seconds since 1970, as JWTs count. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly device?: DeviceFacts | undefined;
  /** The thumbprint of the certificate that the token is bound to (RFC 8705). */
  readonly certificate?: string | undefined;
};

export type MachineIssue = Issue & { readonly scope: string | undefined };

export type UserIssue = Issue & {
  readonly user: User;
  /** What was granted, separated by blanks. */
  readonly scope: string;
  /** Of the sign-in: the same in all of its tokens. */
  readonly sessionId: string;
  readonly methods: readonly Method[];
  /** Epoch milliseconds. */
  readonly authenticatedAt: number;
  readonly nonce?: string | undefined;
};

const scopesOf = (scope: string | undefined): ReadonlySet<string> =>
  new Set(scope?.split(' ') ?? []);

/** The claims that the specification names as always present. */
function registeredClaims(issue: Issue, subject: string): Record<string, unknown> {
  const { realm, application, tokenId, issuedAt, expiresAt } = issue;
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

function accessClaims(issue: Issue, subject: string, scope: string | undefined) {
  const { application, certificate, device } = issue;
  return {
    ...registeredClaims(issue, subject),
    client_id: application.clientId,
    typ: accessTokenType,
    scope,
    ...placeClaims({ storeId: application.storeId, ...device }),
    ...defined({ cnf: certificate === undefined ? undefined : { 'x5t#S256': certificate } }),
  };
}

/** An application of its own is no terminal of ours: what it is called is its client id. */
function machineAuthClaims({ application, device }: MachineIssue): Record<string, unknown> {
  if (device !== undefined) return authClaims(device, []);
  return {
    device_type: 'ExternalMachine',
    device_id: application.clientId,
    method: 'api',
    ...authClaims(undefined, []),
  };
}

/** entityId, permissions and user_domain stand in every machine token, whatever its scope. */
export function machineClaims(issue: MachineIssue): Record<string, unknown> {
  const { realm, application, scope } = issue;
  const { entityId, entityType } = application;
  return {
    ...accessClaims(issue, application.serviceAccountId, scope),
    user_domain: realm.userDomainId,
    entityId,
    um_scope: { entityId, entityType },
    permissions: application.permissions,
    groups: [],
    ...(scopesOf(scope).has('auth') ? machineAuthClaims(issue) : {}),
  };
}

/** For the application on a device that acts for itself: which device it is, and whose. */
export function machineIdTokenClaims(issue: MachineIssue): Record<string, unknown> {
  const { realm, application, scope } = issue;
  return {
    ...registeredClaims(issue, application.serviceAccountId),
    typ: idTokenType,
    user_domain: realm.userDomainId,
    entityId: application.entityId,
    ...(scopesOf(scope).has('auth') ? machineAuthClaims(issue) : {}),
  };
}

/** What is not known of a person is left out, as OpenID Connect Core, 5.3.2, has it. */
function known(claims: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
}

function profileOf(user: User): Record<string, unknown> {
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

function phoneOf({ phoneNumber, phoneNumberVerified }: User): Record<string, unknown> {
  if (phoneNumber === undefined) return {};
  return { phone_number: phoneNumber, phone_number_verified: phoneNumberVerified };
}

/** The user info claims, by scope. Nobody signs in before the address is verified. */
export function userInfo(user: User, scope: string): Record<string, unknown> {
  const granted = scopesOf(scope);
  return known({
    ...(granted.has('profile') ? profileOf(user) : {}),
    ...(granted.has('email') ? { email: user.email, email_verified: true } : {}),
    ...(granted.has('phone') ? phoneOf(user) : {}),
    ...(granted.has('address') ? { address: user.address } : {}),
  });
}

function customClaims({ realm, user, scope, device, methods }: UserIssue) {
  const granted = scopesOf(scope);
  return {
    ...(granted.has('profile')
      ? {
          user_domain: realm.userDomainId,
          groups: user.groups,
          entityId: user.entityId,
          um_scope: { entityId: user.scopeEntityId, entityType: user.scopeEntityType },
          permissions: permissionsAt(device !== undefined, user.permissions),
        }
      : {}),
    ...(granted.has('auth') ? authClaims(device, methods) : {}),
  };
}

/** The access token of a person: what is not granted is looked up by `sub` when it is used. */
export function userClaims(issue: UserIssue): Record<string, unknown> {
  const { user, scope, sessionId } = issue;
  return {
    ...accessClaims(issue, user.userId, scope),
    sid: sessionId,
    ...userInfo(user, scope),
    ...customClaims(issue),
  };
}

/** For the application, of the person who signed in; worth nothing at the API. */
export function idTokenClaims(issue: UserIssue): Record<string, unknown> {
  const { user, scope, sessionId, authenticatedAt, nonce } = issue;
  return known({
    ...registeredClaims(issue, user.userId),
    typ: idTokenType,
    sid: sessionId,
    auth_time: Math.floor(authenticatedAt / 1000),
    nonce,
    ...userInfo(user, scope),
    ...customClaims(issue),
  });
}
