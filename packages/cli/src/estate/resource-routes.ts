/** Where the things of each kind live at the server, and how its words become those of the file. */

import type { Json, KindName, Members, Thing } from './estate-model.ts';
import { kindOf } from './resource-kinds.ts';

export type View = Readonly<Record<string, Json>>;

/** The organisation whose estate it is, and the user domain that its people belong to. */
export type Home = { readonly organizationId: string; readonly userDomainId: string | undefined };

export type Route = {
  readonly kind: KindName;
  readonly idMember: string;
  /** The member with the id of what it stands below. */
  readonly parentMember?: string;
  /** undefined: there are none here, such as people without a user domain. */
  path(home: Home, parentId: string | undefined): string | undefined;
};

const provisioning = '/provisioning/v2';
const catalogue = '/service-catalog/v1';
const fixed = (path: string) => () => path;

export const routes: readonly Route[] = [
  {
    kind: 'acquirerLink',
    idMember: 'acquirerLinkId',
    path: fixed(`${provisioning}/acquirer-links`),
  },
  { kind: 'merchant', idMember: 'merchantId', path: fixed(`${provisioning}/merchants`) },
  {
    kind: 'acquirerContract',
    idMember: 'contractId',
    parentMember: 'merchantId',
    path: (_home, parentId) =>
      parentId === undefined
        ? undefined
        : `${provisioning}/merchants/${parentId}/acquirer-contracts`,
  },
  {
    kind: 'store',
    idMember: 'storeId',
    parentMember: 'merchantId',
    path: fixed(`${provisioning}/stores`),
  },
  {
    kind: 'physicalDevice',
    idMember: 'physicalDeviceId',
    path: fixed(`${provisioning}/physical-devices`),
  },
  {
    kind: 'logicalDevice',
    idMember: 'logicalDeviceId',
    parentMember: 'storeId',
    path: fixed(`${provisioning}/logical-devices`),
  },
  {
    kind: 'pointOfSale',
    idMember: 'pointOfSaleId',
    parentMember: 'storeId',
    path: fixed(`${provisioning}/points-of-sale`),
  },
  {
    kind: 'user',
    idMember: 'userId',
    path: ({ userDomainId }) =>
      userDomainId === undefined
        ? undefined
        : `/user-management/v2/user-domains/${userDomainId}/users`,
  },
  {
    kind: 'application',
    idMember: 'clientId',
    path: ({ userDomainId }) =>
      userDomainId === undefined
        ? undefined
        : `/application-management/v1/user-domains/${userDomainId}/applications`,
  },
  { kind: 'service', idMember: 'serviceId', path: fixed(`${catalogue}/services`) },
  { kind: 'package', idMember: 'packageId', path: fixed(`${catalogue}/packages`) },
  { kind: 'subscription', idMember: 'subscriptionId', path: fixed(`${catalogue}/subscriptions`) },
  { kind: 'activation', idMember: 'activationId', path: fixed(`${catalogue}/activations`) },
];

export function routeOf(name: KindName): Route {
  const found = routes.find(({ kind }) => kind === name);
  if (found === undefined) throw new RangeError(`${name} has no route`);
  return found;
}

/** The levels of activations and configurations, and the kinds that they are. */
export const levelOf: Readonly<Partial<Record<KindName, string>>> = {
  organization: 'Organization',
  merchant: 'Merchant',
  store: 'Store',
  logicalDevice: 'LogicalDevice',
};

export const configurationPaths: Readonly<Partial<Record<KindName, string>>> = {
  organization: 'organizations',
  merchant: 'merchants',
  store: 'stores',
  logicalDevice: 'logical-devices',
};

export type KeyOf = (kind: KindName, id: string) => string;
export type IdOf = (kind: KindName, key: string) => string;

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

/** Other words for what the server says: what the file leaves to keys, and what the platform made. */
function special(name: KindName, view: View, { organizationId }: Home, keyOf: KeyOf): Members {
  const entityId = textOf(view['entityId']);
  switch (name) {
    case 'user': {
      const { email, pendingEmail, groups } = view;
      const prefix = `${entityId}_`;
      return {
        ...(entityId === organizationId ? {} : { merchant: keyOf('merchant', entityId) }),
        ...(view['scope'] === entityId ? {} : { scope: keyOf('merchant', textOf(view['scope'])) }),
        email: pendingEmail ?? email ?? '',
        groups: (Array.isArray(groups) ? groups : [])
          .map((group) => String(group).replace(prefix, ''))
          .sort(),
      };
    }
    case 'application': {
      const { storeId, status } = view;
      return {
        // A file says what is wanted; the approval is the platform's.
        ...(status === 'PendingApproval' ? { status: 'Enabled' } : {}),
        ...(entityId === organizationId ? {} : { merchant: keyOf('merchant', entityId) }),
        ...(typeof storeId === 'string' ? { store: keyOf('store', storeId) } : {}),
      };
    }
    case 'activation':
      return { active: ['Requested', 'Pending', 'Active'].includes(textOf(view['status'])) };
    default:
      return {};
  }
}

/** The members of the file: what somebody set, others by their keys. */
export function fileMembers(
  name: KindName,
  view: View,
  home: Home,
  keyOf: KeyOf,
): Record<string, Json> {
  const { members, references } = kindOf(name);
  const found: Record<string, Json> = {};
  for (const member of Object.keys(members)) {
    const value = view[member];
    if (value !== undefined && value !== null) found[member] = value;
  }
  for (const { member, kind, server } of references) {
    delete found[member];
    if (server === undefined) continue;
    const value = view[server];
    if (typeof value === 'string') found[member] = keyOf(kind, value);
    if (Array.isArray(value)) found[member] = value.map((id) => keyOf(kind, String(id))).sort();
  }
  return { ...found, ...special(name, view, home, keyOf) };
}

function specialBody(thing: Thing, { organizationId }: Home, idOf: IdOf): Record<string, unknown> {
  const { kind, members } = thing;
  const { merchant, scope, groups, store } = members;
  const entityId = typeof merchant === 'string' ? idOf('merchant', merchant) : organizationId;
  if (kind === 'user') {
    return {
      entityId,
      scope: typeof scope === 'string' ? idOf('merchant', scope) : entityId,
      groups: (Array.isArray(groups) ? groups : []).map((group) => `${entityId}_${group}`),
    };
  }
  if (kind === 'application') {
    const storeKey = `${merchant}/${store}`;
    return { entityId, ...(typeof store === 'string' ? { storeId: idOf('store', storeKey) } : {}) };
  }
  return {};
}

/** Members that a route of their own sets, or that only say which thing is meant. */
const apart: Readonly<Partial<Record<KindName, readonly string[]>>> = {
  logicalDevice: ['physicalDevices'],
  user: ['status', 'merchant', 'scope'],
  application: ['merchant', 'store'],
  service: ['status'],
};

/** The body of a POST or PUT. */
export function bodyOf(
  thing: Thing,
  home: Home,
  idOf: IdOf,
  parentId: string | undefined,
): Record<string, unknown> {
  const { kind, members } = thing;
  const left = apart[kind] ?? [];
  const body: Record<string, unknown> = {};
  for (const [member, value] of Object.entries(members))
    if (!left.includes(member)) body[member] = value;
  for (const reference of kindOf(kind).references) {
    if (reference.server === undefined || left.includes(reference.member)) continue;
    const value = members[reference.member];
    delete body[reference.member];
    if (typeof value === 'string') body[reference.server] = idOf(reference.kind, value);
    if (Array.isArray(value))
      body[reference.server] = value.map((key) => idOf(reference.kind, String(key)));
  }
  const { parentMember } = routeOf(kind);
  const parent =
    parentMember !== undefined && kind !== 'acquirerContract' ? { [parentMember]: parentId } : {};
  return { ...parent, ...body, ...specialBody(thing, home, idOf) };
}

/** Made by the platform for something else: the file never speaks of them. */
export function isMadeByPlatform(
  name: KindName,
  view: View,
  tillClients: ReadonlySet<string>,
): boolean {
  if (name !== 'application') return false;
  const clientId = textOf(view['clientId']);
  return (
    tillClients.has(clientId) ||
    /^device-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(clientId)
  );
}
