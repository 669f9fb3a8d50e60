/** Converts between the nested document of a file and the resources of an estate. */
import { defined } from '@switchyard/contract';
import { estateFormat } from './estate-file-schema.ts';
import {
  compareText,
  createUniqueKeys,
  type Estate,
  isEqualJson,
  isObject,
  type Json,
  type Members,
  type Resource,
  type ResourceKind,
  resourceKinds,
  sortMembers,
} from './estate-model.ts';
import {
  definitionsWithin,
  organizationDefaults,
  organizationMembers,
  resourceDefinition,
  resourceDefinitions,
} from './resource-kinds.ts';

/** Kinds below merchants: a file that has merchants manages these too. */
const kindsOfMerchant: readonly ResourceKind[] = [
  'store',
  'logicalDevice',
  'pointOfSale',
  'acquirerContract',
];

const listItems = (document: Members, list: string): readonly Json[] => {
  const items = document[list];
  return Array.isArray(items) ? items : [];
};

/** The resources of a document that the schema has accepted. */
function readResources(document: Members, at: readonly (string | number)[]): Resource[] {
  const keys = createUniqueKeys();
  const resources: Resource[] = [];
  function collectResources(
    name: ResourceKind,
    holder: Members,
    parent: Resource | undefined,
    path: readonly (string | number)[],
  ) {
    for (const kind of definitionsWithin(name)) {
      const inner = definitionsWithin(kind.name).map(({ list }) => list);
      listItems(holder, kind.list).forEach((item, index) => {
        if (!isObject(item)) return;
        const { id, ...rest } = item;
        const members = Object.fromEntries(
          Object.entries(rest).filter(([member]) => !inner.includes(member)),
        );
        const resource: Resource = {
          kind: kind.name,
          key: keys(parent, kind.name, kind.keyOf(members)),
          parent,
          members: omitDefaults(kind.name, members),
          at: [...path, kind.list, index],
          ...(typeof id === 'string' && kind.hasId ? { id } : {}),
        };
        resources.push(resource);
        collectResources(kind.name, item, resource, resource.at ?? []);
      });
    }
  }
  collectResources('organization', document, undefined, at);
  return resources.sort(
    (one, other) => resourceKinds.indexOf(one.kind) - resourceKinds.indexOf(other.kind),
  );
}

/** Leaves out members that equal the defaults of the server. */
export function omitDefaults(name: ResourceKind, members: Members): Members {
  const defaults: Members =
    name === 'organization' ? organizationDefaults : resourceDefinition(name).defaults(members);
  const explicit = Object.entries(members).filter(
    ([member, value]) => !isEqualJson(value, defaults[member]),
  );
  return Object.fromEntries(explicit);
}

function managedKinds(document: Members): ReadonlySet<ResourceKind> {
  const listedKinds = resourceDefinitions
    .filter(({ list }) => document[list] !== undefined)
    .map(({ name }) => name);
  const nested = listedKinds.includes('merchant') ? kindsOfMerchant : [];
  const ownMembers: ResourceKind[] = document['organization'] === undefined ? [] : ['organization'];
  return new Set([...ownMembers, ...listedKinds, ...nested]);
}

/** @param at the position of the document in the file */
export function parseEstateDocument(
  document: Members,
  at: readonly (string | number)[] = [],
): Estate {
  const { organization, only, organizations } = document;
  const { id, ...ownMembers } = isObject(organization) ? organization : {};
  const subOrganizations = (Array.isArray(organizations) ? organizations : []).filter(isObject);
  return {
    organization: {
      kind: 'organization',
      key: String(ownMembers['externalId'] ?? ownMembers['name'] ?? ''),
      parent: undefined,
      members: omitDefaults('organization', ownMembers),
      at: [...at, 'organization'],
      ...(typeof id === 'string' ? { id } : {}),
    },
    resources: readResources(document, at),
    subOrganizations: subOrganizations.map((each, index) =>
      parseEstateDocument(each, [...at, 'organizations', index]),
    ),
    managed: managedKinds(document),
    ...(Array.isArray(only) ? { only: only.map(String) } : {}),
  };
}

function memberOrder(name: ResourceKind): readonly string[] {
  const members = Object.keys(
    name === 'organization' ? organizationMembers : resourceDefinition(name).members,
  );
  const first = ['externalId', 'id', 'name', 'username', 'clientId', 'service', 'package'];
  return [...first.filter((member) => members.includes(member) || member === 'id'), ...members];
}

/** The members of a resource in a fixed order: identifiers first, then as in the schema. */
function toOrderedMembers(resource: Resource): Record<string, Json> {
  const { id } = resource;
  const hasExternalId = resource.members['externalId'] !== undefined;
  const hasId = resource.kind === 'organization' || resourceDefinition(resource.kind).hasId;
  const all: Members =
    id !== undefined && hasId && !hasExternalId ? { id, ...resource.members } : resource.members;
  const ordered: Record<string, Json> = {};
  for (const member of memberOrder(resource.kind)) {
    const value = all[member];
    if (value !== undefined) ordered[member] = sortMembers(value);
  }
  return ordered;
}

/** The document of an estate; the same estate always gives the same document. */
export function toDocument(estate: Estate, isTop = true): Record<string, Json> {
  const childrenByParent = new Map<Resource | undefined, Resource[]>();
  for (const resource of estate.resources) {
    const siblings = childrenByParent.get(resource.parent);
    if (siblings === undefined) childrenByParent.set(resource.parent, [resource]);
    else siblings.push(resource);
  }

  function lists(name: ResourceKind, holder: Resource | undefined): Record<string, Json> {
    const result: Record<string, Json> = {};
    for (const kind of definitionsWithin(name)) {
      const items = (childrenByParent.get(holder) ?? []).filter(
        (resource) => resource.kind === kind.name,
      );
      // At the top an empty list means “none”; a missing list means “not managed by the file”.
      if (items.length === 0 && !(holder === undefined && estate.managed.has(kind.name))) continue;
      result[kind.list] = items
        .sort((one, other) => compareText(one.key, other.key))
        .map((resource) => ({ ...toOrderedMembers(resource), ...lists(resource.kind, resource) }));
    }
    return result;
  }

  return {
    ...(isTop ? { format: estateFormat } : {}),
    ...defined({
      only: estate.only === undefined ? undefined : [...estate.only].sort(compareText),
    }),
    ...(estate.managed.has('organization')
      ? { organization: toOrderedMembers(estate.organization) }
      : {}),
    ...lists('organization', undefined),
    ...(estate.subOrganizations.length === 0
      ? {}
      : { organizations: estate.subOrganizations.map((each) => toDocument(each, false)) }),
  };
}
