/** The API routes of each resource kind, and the conversion between API and file. */

import type { Json, Members, Resource, ResourceKind } from './estate-model.ts';
import { resourceDefinition } from './resource-kinds.ts';

export type View = Readonly<Record<string, Json>>;

/** The organisation of the estate, and the user domain of its users. */
export type EstateOwner = {
  readonly organizationId: string;
  readonly userDomainId: string | undefined;
};

export type Route = {
  readonly kind: ResourceKind;
  readonly idMember: string;
  /** The member with the id of the parent. */
  readonly parentMember?: string;
  /** undefined if the organisation cannot have this kind, such as users without a user domain. */
  path(owner: EstateOwner, parentId: string | undefined): string | undefined;
};

const provisioning = '/provisioning/v2';
const catalogue = '/service-catalog/v1';
const fixedPath = (path: string) => () => path;

export const routes: readonly Route[] = [
  {
    kind: 'acquirerLink',
    idMember: 'acquirerLinkId',
    path: fixedPath(`${provisioning}/acquirer-links`),
  },
  { kind: 'merchant', idMember: 'merchantId', path: fixedPath(`${provisioning}/merchants`) },
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
    path: fixedPath(`${provisioning}/stores`),
  },
  {
    kind: 'physicalDevice',
    idMember: 'physicalDeviceId',
    path: fixedPath(`${provisioning}/physical-devices`),
  },
  {
    kind: 'logicalDevice',
    idMember: 'logicalDeviceId',
    parentMember: 'storeId',
    path: fixedPath(`${provisioning}/logical-devices`),
  },
  {
    kind: 'pointOfSale',
    idMember: 'pointOfSaleId',
    parentMember: 'storeId',
    path: fixedPath(`${provisioning}/points-of-sale`),
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
  { kind: 'service', idMember: 'serviceId', path: fixedPath(`${catalogue}/services`) },
  { kind: 'package', idMember: 'packageId', path: fixedPath(`${catalogue}/packages`) },
  {
    kind: 'subscription',
    idMember: 'subscriptionId',
    path: fixedPath(`${catalogue}/subscriptions`),
  },
  { kind: 'activation', idMember: 'activationId', path: fixedPath(`${catalogue}/activations`) },
];

export function routeOf(name: ResourceKind): Route {
  const fileValues = routes.find(({ kind }) => kind === name);
  if (fileValues === undefined) throw new RangeError(`${name} has no route`);
  return fileValues;
}

/** The levels of activations by resource kind. */
export const levelOf: Readonly<Partial<Record<ResourceKind, string>>> = {
  organization: 'Organization',
  merchant: 'Merchant',
  store: 'Store',
  logicalDevice: 'LogicalDevice',
};

export const configurationPaths: Readonly<Partial<Record<ResourceKind, string>>> = {
  organization: 'organizations',
  merchant: 'merchants',
  store: 'stores',
  logicalDevice: 'logical-devices',
};

export type KeyOf = (kind: ResourceKind, id: string) => string;
export type IdOf = (kind: ResourceKind, key: string) => string;

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

/** Members of a view that need code to convert, by kind. */
function specialMembers(
  name: ResourceKind,
  view: View,
  { organizationId }: EstateOwner,
  keyOf: KeyOf,
): Members {
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
        // The file has the desired state; the platform approves applications.
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

/** Converts a view of the API to the members of the file, with references by key. */
export function toFileMembers(
  name: ResourceKind,
  view: View,
  owner: EstateOwner,
  keyOf: KeyOf,
): Record<string, Json> {
  const { members, references } = resourceDefinition(name);
  const fileValues: Record<string, Json> = {};
  for (const member of Object.keys(members)) {
    const value = view[member];
    if (value !== undefined && value !== null) fileValues[member] = value;
  }
  for (const { member, kind, server } of references) {
    delete fileValues[member];
    if (server === undefined) continue;
    const value = view[server];
    if (typeof value === 'string') fileValues[member] = keyOf(kind, value);
    if (Array.isArray(value))
      fileValues[member] = value.map((id) => keyOf(kind, String(id))).sort();
  }
  return { ...fileValues, ...specialMembers(name, view, owner, keyOf) };
}

function specialBody(
  resource: Resource,
  { organizationId }: EstateOwner,
  idOf: IdOf,
): Record<string, unknown> {
  const { kind, members } = resource;
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

/** Members that a separate route sets, or that only identify another resource. */
const separateMembers: Readonly<Partial<Record<ResourceKind, readonly string[]>>> = {
  logicalDevice: ['physicalDevices'],
  user: ['status', 'merchant', 'scope'],
  application: ['merchant', 'store'],
  service: ['status'],
};

/** The body of a POST or PUT. */
export function toRequestBody(
  resource: Resource,
  owner: EstateOwner,
  idOf: IdOf,
  parentId: string | undefined,
): Record<string, unknown> {
  const { kind, members } = resource;
  const excluded = separateMembers[kind] ?? [];
  const body: Record<string, unknown> = {};
  for (const [member, value] of Object.entries(members))
    if (!excluded.includes(member)) body[member] = value;
  for (const reference of resourceDefinition(kind).references) {
    if (reference.server === undefined || excluded.includes(reference.member)) continue;
    const value = members[reference.member];
    delete body[reference.member];
    if (typeof value === 'string') body[reference.server] = idOf(reference.kind, value);
    if (Array.isArray(value))
      body[reference.server] = value.map((key) => idOf(reference.kind, String(key)));
  }
  const { parentMember } = routeOf(kind);
  const parent =
    parentMember !== undefined && kind !== 'acquirerContract' ? { [parentMember]: parentId } : {};
  return { ...parent, ...body, ...specialBody(resource, owner, idOf) };
}

/** Applications that the platform creates for points of sale and devices; the file never has them. */
export function isCreatedByPlatform(
  name: ResourceKind,
  view: View,
  posClientIds: ReadonlySet<string>,
): boolean {
  if (name !== 'application') return false;
  const clientId = textOf(view['clientId']);
  return (
    posClientIds.has(clientId) ||
    /^device-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(clientId)
  );
}
