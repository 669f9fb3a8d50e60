/** Compares the estate of a file with that of the server. Pure. */
import { defined } from '@switchyard/contract';
import {
  type Estate,
  isEqualJson,
  isObject,
  type Json,
  type Members,
  type Resource,
  type ResourceKind,
} from './estate-model.ts';
import { filterByMerchants } from './filter-estate.ts';
import { resourceDefinition, resourceDefinitions } from './resource-kinds.ts';

export type MemberChange = {
  readonly member: string;
  readonly before?: Json;
  readonly after?: Json;
};

export type Change = {
  readonly action: 'create' | 'change' | 'remove';
  /** The desired resource; for a removal the existing one. */
  readonly resource: Resource;
  readonly present?: Resource;
  readonly members: readonly MemberChange[];
};

/** The changes of one organisation, in the order of the kinds; organisations below have plans of their own. */
export type Plan = {
  readonly organization: Resource;
  readonly present: Estate | undefined;
  readonly desired: Estate;
  readonly changes: readonly Change[];
  /** The desired resources and their counterparts on the server. */
  readonly matches: ReadonlyMap<Resource, Resource>;
  readonly unchanged: number;
  readonly subOrganizations: readonly Plan[];
};

/** Members that stay as they are if the file does not have them. */
const preservedMembers: Readonly<Partial<Record<ResourceKind, readonly string[]>>> = {
  user: ['address'],
};
/** Lists in which the order has no meaning. */
const unorderedMembers = [
  'groups',
  'physicalDevices',
  'services',
  'roles',
  'securityFlows',
  'redirectUris',
  'webOrigins',
];

function normalize(member: string, value: Json | undefined): Json | undefined {
  return unorderedMembers.includes(member) && Array.isArray(value)
    ? [...value].map(String).sort()
    : value;
}

/** Compares objects member by member, so that a changed city shows as a changed city. */
function* memberChanges(
  member: string,
  before: Json | undefined,
  after: Json | undefined,
): Generator<MemberChange> {
  if (isEqualJson(before, after)) return;
  if (isObject(before) && isObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      yield* memberChanges(`${member}.${name}`, before[name], after[name]);
    }
    return;
  }
  yield {
    member,
    ...defined({ before, after }),
  };
}

function memberChangesOf(
  desired: Resource,
  present: Resource,
  toServerKeys: (resource: Resource) => Members,
): MemberChange[] {
  const desiredMembers = toServerKeys(desired);
  const preserved = preservedMembers[desired.kind] ?? [];
  const names = [
    ...new Set([...Object.keys(present.members), ...Object.keys(desiredMembers)]),
  ].sort();
  return names
    .filter((name) => !(preserved.includes(name) && desiredMembers[name] === undefined))
    .flatMap((name) => [
      ...memberChanges(
        name,
        normalize(name, present.members[name]),
        normalize(name, desiredMembers[name]),
      ),
    ]);
}

/** Indexes resources by parent, kind and key, and by id. */
function indexResources(resources: readonly Resource[]) {
  const byKey = new Map<Resource | undefined, Map<string, Resource>>();
  const byId = new Map<string, Resource>();
  for (const resource of resources) {
    const siblings = byKey.get(resource.parent) ?? new Map<string, Resource>();
    byKey.set(resource.parent, siblings);
    siblings.set(`${resource.kind} ${resource.key}`, resource);
    if (resource.id !== undefined) byId.set(`${resource.kind} ${resource.id}`, resource);
  }
  return { byKey, byId };
}

const hasExternalId = ({ members }: Resource): boolean => members['externalId'] !== undefined;
const duplicatesMax = 20;

function* duplicateKeys(key: string): Generator<string> {
  const base = key.replace(/~\d+$/, '');
  yield base;
  for (let count = 2; count <= duplicatesMax; count += 1) yield `${base}~${count}`;
}

/** Matches resources by id if the file has one, otherwise by key below the same parent. */
function matchResources(desired: Estate, present: Estate): Map<Resource, Resource> {
  const { byKey, byId } = indexResources(present.resources);
  const matches = new Map<Resource, Resource>();
  const matchedServer = new Set<Resource>();
  const addMatch = (one: Resource, other: Resource | undefined) => {
    if (other === undefined || matchedServer.has(other) || matches.has(one)) return;
    matches.set(one, other);
    matchedServer.add(other);
  };
  for (const { name } of resourceDefinitions) {
    const resources = desired.resources.filter(({ kind }) => kind === name);
    const parentOf = ({ parent }: Resource) =>
      parent === undefined ? undefined : matches.get(parent);
    const canMatch = (resource: Resource) =>
      resource.parent === undefined || parentOf(resource) !== undefined;
    for (const resource of resources.filter(({ id }) => id !== undefined)) {
      const existing = byId.get(`${name} ${resource.id}`);
      if (canMatch(resource) && existing?.parent === parentOf(resource))
        addMatch(resource, existing);
    }
    for (const resource of resources) {
      if (matches.has(resource) || !canMatch(resource)) continue;
      addMatch(resource, byKey.get(parentOf(resource))?.get(`${name} ${resource.key}`));
    }
    for (const resource of resources) {
      if (matches.has(resource) || !canMatch(resource) || hasExternalId(resource)) continue;
      // The number of a duplicate name changes when another duplicate is renamed.
      const siblings = byKey.get(parentOf(resource));
      for (const key of duplicateKeys(resource.key)) {
        const duplicate = siblings?.get(`${name} ${key}`);
        if (duplicate !== undefined && !hasExternalId(duplicate)) addMatch(resource, duplicate);
      }
    }
  }
  return matches;
}

/** Resources that count as removed: deactivated users, retired services, inactive activations. */
function isInactive({ kind, members }: Resource): boolean {
  if (kind === 'user') return members['status'] === 'deactivated';
  if (kind === 'service') return members['status'] === 'Retired';
  if (kind === 'activation') return members['active'] === false;
  return false;
}

/** Replaces the keys of references by the keys that these resources have on the server. */
function createKeyTranslator(
  desired: Estate,
  matches: ReadonlyMap<Resource, Resource>,
): (resource: Resource) => Members {
  const byKey = new Map(
    desired.resources.map((resource) => [`${resource.kind} ${resource.key}`, resource]),
  );
  const keyNow = (kind: ResourceKind, key: string): string => {
    const resource = byKey.get(`${kind} ${key}`);
    return (resource === undefined ? undefined : matches.get(resource)?.key) ?? key;
  };
  return ({ kind, members }) => {
    const now: Record<string, Json> = { ...members };
    for (const reference of resourceDefinition(kind).references) {
      const value = now[reference.member];
      if (typeof value === 'string') now[reference.member] = keyNow(reference.kind, value);
      if (Array.isArray(value))
        now[reference.member] = value.map((key) => keyNow(reference.kind, String(key)));
    }
    return now;
  };
}

const toCreation = (resource: Resource): Change => ({
  action: 'create',
  resource,
  members: Object.entries(resource.members).map(([member, after]) => ({ member, after })),
});

function organizationChange(desired: Estate, present: Estate | undefined): Change[] {
  if (present === undefined) return [toCreation(desired.organization)];
  if (!desired.managed.has('organization')) return [];
  const members = memberChangesOf(
    desired.organization,
    present.organization,
    ({ members: isEqualJson }) => isEqualJson,
  );
  if (members.length === 0) return [];
  return [
    { action: 'change', resource: desired.organization, present: present.organization, members },
  ];
}

function compareResources(
  desired: Estate,
  present: Estate,
): Pick<Plan, 'changes' | 'matches' | 'unchanged'> {
  const matches = matchResources(desired, present);
  const translate = createKeyTranslator(desired, matches);
  const changes: Change[] = [];
  let unchanged = 0;
  for (const resource of desired.resources) {
    const existing = matches.get(resource);
    if (existing === undefined) {
      changes.push(toCreation(resource));
      continue;
    }
    const members = memberChangesOf(resource, existing, translate);
    if (members.length === 0) unchanged += 1;
    else changes.push({ action: 'change', resource, present: existing, members });
  }
  const matched = new Set(matches.values());
  for (const resource of present.resources) {
    if (matched.has(resource) || !desired.managed.has(resource.kind) || isInactive(resource))
      continue;
    changes.push({ action: 'remove', resource, present: resource, members: [] });
  }
  return { changes, matches, unchanged };
}

/** @param present undefined if the organisation does not exist yet */
export function compareEstates(desired: Estate, present: Estate | undefined): Plan {
  const filtered =
    present !== undefined && desired.only !== undefined
      ? filterByMerchants(present, desired.only)
      : present;
  const organizationChanges = organizationChange(desired, filtered);
  const { changes, matches, unchanged } =
    filtered === undefined
      ? {
          changes: desired.resources.map(toCreation),
          matches: new Map<Resource, Resource>(),
          unchanged: 0,
        }
      : compareResources(desired, filtered);
  const unmatched = [...(filtered?.subOrganizations ?? [])];
  const subOrganizations = desired.subOrganizations.map((each) => {
    const { id, key } = each.organization;
    const index = unmatched.findIndex(
      ({ organization }) => organization.id === id || organization.key === key,
    );
    return compareEstates(each, index < 0 ? undefined : unmatched.splice(index, 1)[0]);
  });
  return {
    organization: desired.organization,
    desired,
    present,
    changes: [...organizationChanges, ...changes],
    matches,
    unchanged,
    subOrganizations,
  };
}

/** The plan and all plans below, from the top. */
export function* plansOf(plan: Plan): Generator<Plan> {
  yield plan;
  for (const each of plan.subOrganizations) yield* plansOf(each);
}
