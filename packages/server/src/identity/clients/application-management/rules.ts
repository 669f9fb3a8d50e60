// What an application may be: its addresses, its flows, and the roles that a caller may give.
import {
  type ApplicationInput,
  type FieldError,
  type Permission,
  type RoleName,
  roleNamed,
  rolePermissions,
} from '@switchyard/contract';
import type { EntityType, SigningAlgorithm } from '../../realms-and-keys/realm.ts';
import type {
  AccessTokenType,
  Application,
  ApplicationStatus,
  ApplicationType,
  CallbackError,
  SecurityFlow,
} from '../application.ts';

/** What a client may set, after its defaults were filled in. */
export type ApplicationDraft = {
  readonly name: string;
  readonly description: string | undefined;
  readonly type: ApplicationType;
  readonly isPublic: boolean;
  readonly securityFlows: readonly SecurityFlow[];
  readonly redirectUris: readonly string[];
  readonly webOrigins: readonly string[];
  readonly services: readonly string[];
  /** As they were named: the checks tell which are no roles. */
  readonly roles: readonly string[];
  readonly callbackError: CallbackError;
  readonly accessTokenSeconds: number | undefined;
  readonly accessTokenAlgorithm: SigningAlgorithm | undefined;
  readonly accessTokenType: AccessTokenType;
  /** What the caller wants; the platform may make an approval necessary. */
  readonly status: ApplicationStatus;
};

const retailApi = 'RetailApi';
const serviceTitles: Readonly<Record<string, string>> = { 'Retail API': retailApi };
const posRole: RoleName = 'PointOfSaleTerminal';
const merchantDeveloper: RoleName = 'MerchantDeveloper';
const loopbackHosts = ['localhost', '127.0.0.1', '[::1]'];
/** What an address is made of: nothing that a parser would drop or turn round. */
const printableUrl = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** An application for the Cloud Connector has what the specification says without being told. */
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

/** Whether an address of the form scheme:… belongs to an app on a phone or a desk (RFC 8252, 7.1). */
const isPrivateUse = ({ protocol }: URL) => /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/.test(protocol);

function addressFault(text: string): string | undefined {
  if (!printableUrl.test(text) || !URL.canParse(text)) return 'is not an absolute address';
  const { username, password, hostname } = new URL(text);
  if (text.includes('#')) return 'has a fragment';
  if (text.includes('*')) return 'has a wildcard; each address is registered by itself';
  if (username !== '' || password !== '') return 'names a user';
  // The parser forgives a missing slash, a browser's bar would not show the same.
  const isWeb = /^https?:/i.test(text);
  if (isWeb && (hostname === '' || !/^https?:\/\//.test(text))) return 'is not an absolute address';
  return undefined;
}

/** Undefined where users may be sent there with a code. */
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
    return allowsLoopback ? 'is http beyond this machine' : 'is not https';
  }
  if (!isPrivateUse(url)) return 'has a scheme without a domain name in it (RFC 8252, 7.1)';
  return isPublic ? undefined : 'is for an app in the hands of its users: make it public';
}

/** An app with a scheme of its own listens on its machine without TLS, if at all (RFC 8252, 7.3). */
function loopbackFault(text: string, all: readonly string[]): string | undefined {
  const { protocol, hostname } = new URL(text);
  const isLocal = protocol === 'https:' && loopbackHosts.includes(hostname);
  const isApp = all.some((uri) => URL.canParse(uri) && isPrivateUse(new URL(uri)));
  return isLocal && isApp ? 'is https on this machine, beside a scheme of an app' : undefined;
}

/** Undefined where a browser would name itself so in `Origin`. */
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

/** An app that only ever is called by a scheme of its own has no page, and so no origin. */
function codeFlowFaults({
  securityFlows,
  redirectUris,
  webOrigins,
}: ApplicationDraft): FieldError[] {
  if (!securityFlows.includes('AuthorizationCode')) return [];
  const hasPage = redirectUris.some((uri) => /^https?:/.test(uri));
  return [
    ...(redirectUris.length === 0
      ? [missingField('redirectUris', 'is needed for AuthorizationCode')]
      : []),
    ...(webOrigins.length === 0 && (hasPage || redirectUris.length === 0)
      ? [missingField('webOrigins', 'is needed for AuthorizationCode')]
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
    .map(([, member, word]) => invalidField(member, `of a CloudApiApplication holds ${word}`));
}

/** Everything that is wrong with a draft, in the order of its members. */
export function draftFaults(draft: ApplicationDraft, allowsLoopback: boolean): FieldError[] {
  const { isPublic, securityFlows, redirectUris, webOrigins, roles } = draft;
  return [
    ...(isPublic && securityFlows.includes('ClientCredentials')
      ? [invalidField('securityFlows', 'of a public application cannot hold ClientCredentials')]
      : []),
    ...codeFlowFaults(draft),
    ...fieldFaults(
      'redirectUris',
      redirectUris,
      (uri) => redirectFault(uri, { isPublic, allowsLoopback }) ?? loopbackFault(uri, redirectUris),
    ),
    ...fieldFaults('webOrigins', webOrigins, (origin) => originFault(origin, allowsLoopback)),
    ...fieldFaults('roles', roles, (name) =>
      roleNamed(name) === undefined ? 'is no role' : undefined,
    ),
    ...cloudApplicationFaults(draft),
  ];
}

/**
 * Permissions by which rights are given away or the house is arranged: with such a role a developer
 * could make himself an administrator. What tills, providers and devices need is not among them.
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

/** Acts for the platform and not for an organisation: it is given at the seat of the platform. */
const platformRole: RoleName = 'PlatformOperator';

/** Whether its tokens take, change or show payments. */
export const hasPaymentRights = (roles: readonly RoleName[]): boolean =>
  roles.some((role) => rolePermissions[role].some((permission) => permission.startsWith('pay.')));

/** Whether a token of the application itself could do more about payments than before. */
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
 * The status after a registration or a change. A caller without `um.write` gives no right to payments: the
 * application waits until a user manager approves it, and no other change ends the wait.
 */
export function statusAfter(
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

/** What is wrong with the roles of an application at its place. */
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
      ? 'is a role of a merchant: name the merchant in entityId, and no storeId'
      : undefined,
  );
}

/** The first role that somebody with these permissions may neither give nor touch. */
export function findForbiddenRole(
  roles: readonly RoleName[],
  callerPermissions: ReadonlySet<Permission>,
): RoleName | undefined {
  return roles.find((role) => {
    // What its holder registers for itself waits for a user manager: no right is given away with it.
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
