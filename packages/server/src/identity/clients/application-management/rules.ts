// The rules for applications: redirect URIs, origins, flows, and the roles that a caller may
// assign.
import {
  type ApplicationInput,
  type FieldError,
  type Permission,
  type RoleName,
  roleNamed,
  rolePermissions,
} from '@switchyard/contract';
import type { EntityType, SigningAlgorithm } from '../../realms-and-keys/realm-types.ts';
import type {
  AccessTokenType,
  Application,
  ApplicationStatus,
  ApplicationType,
  CallbackErrorFormat,
  SecurityFlow,
} from '../application-record.ts';

/** The members that a caller may set, with defaults filled in. */
export type ApplicationDraft = {
  readonly name: string;
  readonly description: string | undefined;
  readonly type: ApplicationType;
  readonly isPublic: boolean;
  readonly securityFlows: readonly SecurityFlow[];
  readonly redirectUris: readonly string[];
  readonly webOrigins: readonly string[];
  readonly services: readonly string[];
  /** As sent by the caller; the checks report unknown roles. */
  readonly roles: readonly string[];
  readonly callbackError: CallbackErrorFormat;
  readonly accessTokenSeconds: number | undefined;
  readonly accessTokenAlgorithm: SigningAlgorithm | undefined;
  readonly accessTokenType: AccessTokenType;
  /** The status that the caller requests; the platform may set PendingApproval instead. */
  readonly status: ApplicationStatus;
};

const retailApi = 'RetailApi';
const serviceTitles: Readonly<Record<string, string>> = { 'Retail API': retailApi };
const posRole: RoleName = 'PointOfSaleTerminal';
const merchantDeveloper: RoleName = 'MerchantDeveloper';
const loopbackHosts = ['localhost', '127.0.0.1', '[::1]'];
/** Printable ASCII without quotes and backslashes, which a URL parser would drop or convert. */
const printableUrl = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** The specification defines these defaults for applications of the Cloud Connector. */
const defaults: Readonly<Record<ApplicationType, Pick<ApplicationDraft, 'services' | 'roles'>>> = {
  Application: { services: [], roles: [] },
  CloudApiApplication: { services: [retailApi], roles: [posRole] },
};

export function draftFromInput(
  input: Omit<ApplicationInput, 'status'> & { status?: ApplicationStatus },
  isPublic: boolean,
): ApplicationDraft {
  const { type = 'Application' } = input;
  const services = input.services ?? defaults[type].services;
  return {
    name: input.name,
    description: input.description,
    type,
    isPublic,
    securityFlows: input.securityFlows ?? ['ClientCredentials'],
    redirectUris: input.redirectUris ?? [],
    webOrigins: input.webOrigins ?? [],
    services: [...new Set(services.map((name) => serviceTitles[name] ?? name))],
    roles: (input.roles ?? defaults[type].roles).map((name) => roleNamed(name) ?? name),
    callbackError: input.callbackError ?? 'Rfc6749',
    accessTokenSeconds: input.accessTokenSeconds,
    accessTokenAlgorithm: input.accessTokenAlgorithm,
    accessTokenType: input.accessTokenType ?? 'JWT',
    status: input.status ?? 'Enabled',
  };
}

/** Whether the URI has a private-use scheme of a mobile or desktop app (RFC 8252, 7.1). */
const isPrivateUse = ({ protocol }: URL) => /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/.test(protocol);

function addressFault(text: string): string | undefined {
  if (!printableUrl.test(text) || !URL.canParse(text)) return 'is not an absolute URL';
  const { username, password, hostname } = new URL(text);
  if (text.includes('#')) return 'has a fragment';
  if (text.includes('*')) return 'has a wildcard; register each URL separately';
  if (username !== '' || password !== '') return 'contains a user name or password';
  // The URL parser accepts a missing slash, but browsers show another address.
  const isWeb = /^https?:/i.test(text);
  if (isWeb && (hostname === '' || !/^https?:\/\//.test(text))) return 'is not an absolute URL';
  return undefined;
}

/** Undefined if the redirect URI is allowed. */
export function redirectFault(
  text: string,
  { isPublic, allowsLoopback }: { isPublic: boolean; allowsLoopback: boolean },
): string | undefined {
  const fault = addressFault(text);
  if (fault !== undefined) return fault;
  const url = new URL(text);
  if (url.protocol === 'https:') return undefined;
  if (url.protocol === 'http:') {
    if (allowsLoopback && loopbackHosts.includes(url.hostname)) return undefined;
    return allowsLoopback ? 'uses http with a host other than localhost' : 'is not https';
  }
  if (!isPrivateUse(url)) return 'has a private-use scheme without a domain name (RFC 8252, 7.1)';
  return isPublic
    ? undefined
    : 'has a private-use scheme, which only a public application may have';
}

/**
 * A native app with a private-use scheme listens on localhost without TLS, if at all (RFC 8252,
 * 7.3).
 */
function loopbackFault(text: string, all: readonly string[]): string | undefined {
  const { protocol, hostname } = new URL(text);
  const isLocal = protocol === 'https:' && loopbackHosts.includes(hostname);
  const isApp = all.some((uri) => URL.canParse(uri) && isPrivateUse(new URL(uri)));
  return isLocal && isApp
    ? 'uses https on localhost, together with a private-use scheme'
    : undefined;
}

/** Undefined if a browser would send exactly this text in `Origin`. */
export function originFault(text: string, allowsLoopback: boolean): string | undefined {
  const fault = addressFault(text);
  if (fault !== undefined) return fault;
  const { origin, protocol, hostname } = new URL(text);
  if (origin !== text) return 'is not an exact origin, such as https://shop.example';
  if (protocol === 'https:') return undefined;
  return allowsLoopback && loopbackHosts.includes(hostname) ? undefined : 'is not https';
}

function fieldFaults(
  member: string,
  values: readonly string[],
  faultOf: (value: string) => string | undefined,
): FieldError[] {
  return values.flatMap((value, index) => {
    const detail = faultOf(value);
    if (detail === undefined) return [];
    return [{ pointer: `/${member}/${index}`, code: 'field_invalid', detail }];
  });
}

const missingField = (member: string, detail: string): FieldError => ({
  pointer: `/${member}`,
  code: 'field_required',
  detail,
});
const invalidField = (member: string, detail: string): FieldError => ({
  pointer: `/${member}`,
  code: 'field_invalid',
  detail,
});

/** An app with only private-use redirect URIs has no page and needs no origin. */
function codeFlowFaults({
  securityFlows,
  redirectUris,
  webOrigins,
}: ApplicationDraft): FieldError[] {
  if (!securityFlows.includes('AuthorizationCode')) return [];
  const hasPage = redirectUris.some((uri) => /^https?:/.test(uri));
  return [
    ...(redirectUris.length === 0
      ? [missingField('redirectUris', 'is required for AuthorizationCode')]
      : []),
    ...(webOrigins.length === 0 && (hasPage || redirectUris.length === 0)
      ? [missingField('webOrigins', 'is required for AuthorizationCode')]
      : []),
  ];
}

function cloudApplicationFaults({
  type,
  securityFlows,
  services,
  roles,
}: ApplicationDraft): FieldError[] {
  if (type !== 'CloudApiApplication') return [];
  const requirements = [
    [securityFlows.includes('ClientCredentials'), 'securityFlows', 'ClientCredentials'],
    [services.includes(retailApi), 'services', retailApi],
    [roles.includes(posRole), 'roles', posRole],
  ] as const;
  return requirements
    .filter(([isThere]) => !isThere)
    .map(([, member, word]) =>
      invalidField(member, `of a CloudApiApplication must contain ${word}`),
    );
}

/** All faults of a draft, in the order of its members. */
export function draftFaults(draft: ApplicationDraft, allowsLoopback: boolean): FieldError[] {
  const { isPublic, securityFlows, redirectUris, webOrigins, roles } = draft;
  return [
    ...(isPublic && securityFlows.includes('ClientCredentials')
      ? [invalidField('securityFlows', 'of a public application cannot contain ClientCredentials')]
      : []),
    ...codeFlowFaults(draft),
    ...fieldFaults(
      'redirectUris',
      redirectUris,
      (uri) => redirectFault(uri, { isPublic, allowsLoopback }) ?? loopbackFault(uri, redirectUris),
    ),
    ...fieldFaults('webOrigins', webOrigins, (origin) => originFault(origin, allowsLoopback)),
    ...fieldFaults('roles', roles, (name) =>
      roleNamed(name) === undefined ? 'is not a role' : undefined,
    ),
    ...cloudApplicationFaults(draft),
  ];
}

/**
 * Permissions to administer users, applications or the platform. A developer must not give a role
 * with one of them.
 */
const administrativePermissions: ReadonlySet<Permission> = new Set<Permission>([
  'prov.write',
  'um.read',
  'um.write',
  'app.read',
  'app.write',
  'sub.write',
  'conf.write',
  'onb.write',
  'onb.approve',
  'audit.read',
]);

/** A role of the platform operator, which no API assigns. */
const platformRole: RoleName = 'PlatformOperator';

/** Whether a role has a permission for payments. */
export const hasPaymentRights = (roles: readonly RoleName[]): boolean =>
  roles.some((role) => rolePermissions[role].some((permission) => permission.startsWith('pay.')));

/** Whether the change gives the application itself more rights to payments. */
function gainsPaymentRights(
  { roles, securityFlows }: Pick<Application, 'roles' | 'securityFlows'>,
  before: Application,
): boolean {
  const added = roles.filter((role) => !before.roles.includes(role));
  const isNewClientCredentials =
    securityFlows.includes('ClientCredentials') &&
    !before.securityFlows.includes('ClientCredentials');
  return hasPaymentRights(added) || (isNewClientCredentials && hasPaymentRights(roles));
}

/**
 * The status after a registration or a change. If a caller without `um.write` adds rights to
 * payments, the application waits for approval; no other change ends the wait.
 */
export function applicationStatusAfter(
  callerPermissions: ReadonlySet<Permission>,
  requested: Pick<Application, 'roles' | 'securityFlows' | 'status'>,
  before?: Application,
): ApplicationStatus {
  if (requested.status === 'Disabled' || !hasPaymentRights(requested.roles)) {
    return requested.status === 'Disabled' ? 'Disabled' : 'Enabled';
  }
  if (before?.status === 'PendingApproval') return 'PendingApproval';
  if (callerPermissions.has('um.write')) return 'Enabled';
  const isApproved = before?.status === 'Enabled' && !gainsPaymentRights(requested, before);
  return isApproved ? 'Enabled' : 'PendingApproval';
}

/** Faults of roles that do not fit the entity of the application. */
export function roleScopeFaults(
  roles: readonly string[],
  {
    entityType,
    storeId,
  }: { readonly entityType: EntityType; readonly storeId?: string | undefined },
): FieldError[] {
  const isWholeMerchant = entityType === 'merchant' && storeId === undefined;
  return fieldFaults('roles', roles, (role) =>
    role === merchantDeveloper && !isWholeMerchant
      ? 'is a role of a merchant: set entityId to the merchant, and no storeId'
      : undefined,
  );
}

/** The first role that a caller with these permissions may not assign or change. */
export function findForbiddenRole(
  roles: readonly RoleName[],
  callerPermissions: ReadonlySet<Permission>,
): RoleName | undefined {
  return roles.find((role) => {
    // Applications that its holder registers wait for approval, so assigning it gives no right
    // away.
    if (role === merchantDeveloper)
      return !callerPermissions.has('um.write') && !callerPermissions.has('app.write');
    return (
      role === platformRole ||
      rolePermissions[role].some(
        (permission) =>
          administrativePermissions.has(permission) && !callerPermissions.has(permission),
      )
    );
  });
}
