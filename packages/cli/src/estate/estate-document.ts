/** Between the file's nested document and the things of an estate. */
import { defined } from '@switchyard/contract';
import { estateFormat } from './estate-file-schema.ts';
import {
  byText,
  createKeys,
  type Estate,
  isObject,
  type Json,
  type KindName,
  kindNames,
  type Members,
  same,
  sorted,
  type Thing,
} from './estate-model.ts';
import {
  kindOf,
  kinds,
  kindsWithin,
  organizationDefaults,
  organizationMembers,
} from './resource-kinds.ts';

/** Without a list of their own at the top: the file speaks of them where it speaks of merchants. */
const withMerchants: readonly KindName[] = [
  'store',
  'logicalDevice',
  'pointOfSale',
  'acquirerContract',
];

const listItems = (document: Members, list: string): readonly Json[] => {
  const items = document[list];
  return Array.isArray(items) ? items : [];
};

/** Of a document that the schema has passed. */
function thingsOf(document: Members, at: readonly (string | number)[]): Thing[] {
  const keys = createKeys();
  const things: Thing[] = [];
  function take(
    name: KindName,
    holder: Members,
    parent: Thing | undefined,
    place: readonly (string | number)[],
  ) {
    for (const kind of kindsWithin(name)) {
      const inner = kindsWithin(kind.name).map(({ list }) => list);
      listItems(holder, kind.list).forEach((item, index) => {
        if (!isObject(item)) return;
        const { id, ...rest } = item;
        const members = Object.fromEntries(
          Object.entries(rest).filter(([member]) => !inner.includes(member)),
        );
        const thing: Thing = {
          kind: kind.name,
          key: keys(parent, kind.name, kind.keyOf(members)),
          parent,
          members: withoutDefaults(kind.name, members),
          at: [...place, kind.list, index],
          ...(typeof id === 'string' && kind.hasId ? { id } : {}),
        };
        things.push(thing);
        take(kind.name, item, thing, thing.at ?? []);
      });
    }
  }
  take('organization', document, undefined, at);
  return things.sort((one, other) => kindNames.indexOf(one.kind) - kindNames.indexOf(other.kind));
}

/** Equal to what the server would fill in: said by leaving it out. */
export function withoutDefaults(name: KindName, members: Members): Members {
  const defaults: Members =
    name === 'organization' ? organizationDefaults : kindOf(name).defaults(members);
  const told = Object.entries(members).filter(([member, value]) => !same(value, defaults[member]));
  return Object.fromEntries(told);
}

function managedBy(document: Members): ReadonlySet<KindName> {
  const named = kinds.filter(({ list }) => document[list] !== undefined).map(({ name }) => name);
  const nested = named.includes('merchant') ? withMerchants : [];
  const own: KindName[] = document['organization'] === undefined ? [] : ['organization'];
  return new Set([...own, ...named, ...nested]);
}

/** @param at where the document stands in the file */
export function estateOf(document: Members, at: readonly (string | number)[] = []): Estate {
  const { organization, only, organizations } = document;
  const { id, ...own } = isObject(organization) ? organization : {};
  const below = (Array.isArray(organizations) ? organizations : []).filter(isObject);
  return {
    organization: {
      kind: 'organization',
      key: String(own['externalId'] ?? own['name'] ?? ''),
      parent: undefined,
      members: withoutDefaults('organization', own),
      at: [...at, 'organization'],
      ...(typeof id === 'string' ? { id } : {}),
    },
    things: thingsOf(document, at),
    below: below.map((each, index) => estateOf(each, [...at, 'organizations', index])),
    managed: managedBy(document),
    ...(Array.isArray(only) ? { only: only.map(String) } : {}),
  };
}

function memberOrder(name: KindName): readonly string[] {
  const members = Object.keys(name === 'organization' ? organizationMembers : kindOf(name).members);
  const first = ['externalId', 'id', 'name', 'username', 'clientId', 'service', 'package'];
  return [...first.filter((member) => members.includes(member) || member === 'id'), ...members];
}

/** In one order: what identifies it first, then as the schema has it. */
function inOrder(thing: Thing): Record<string, Json> {
  const { id } = thing;
  const isFound = thing.members['externalId'] !== undefined;
  const hasId = thing.kind === 'organization' || kindOf(thing.kind).hasId;
  const all: Members =
    id !== undefined && hasId && !isFound ? { id, ...thing.members } : thing.members;
  const ordered: Record<string, Json> = {};
  for (const member of memberOrder(thing.kind)) {
    const value = all[member];
    if (value !== undefined) ordered[member] = sorted(value);
  }
  return ordered;
}

/** The document of an estate: the same estate gives the same document, member by member. */
export function documentOf(estate: Estate, isTop = true): Record<string, Json> {
  const below = new Map<Thing | undefined, Thing[]>();
  for (const thing of estate.things) {
    const siblings = below.get(thing.parent);
    if (siblings === undefined) below.set(thing.parent, [thing]);
    else siblings.push(thing);
  }

  function lists(name: KindName, holder: Thing | undefined): Record<string, Json> {
    const found: Record<string, Json> = {};
    for (const kind of kindsWithin(name)) {
      const items = (below.get(holder) ?? []).filter((thing) => thing.kind === kind.name);
      // At the top an empty list says that there is none; left out, the file would not speak of it.
      if (items.length === 0 && !(holder === undefined && estate.managed.has(kind.name))) continue;
      found[kind.list] = items
        .sort((one, other) => byText(one.key, other.key))
        .map((thing) => ({ ...inOrder(thing), ...lists(thing.kind, thing) }));
    }
    return found;
  }

  return {
    ...(isTop ? { format: estateFormat } : {}),
    ...defined({ only: estate.only === undefined ? undefined : [...estate.only].sort(byText) }),
    ...(estate.managed.has('organization') ? { organization: inOrder(estate.organization) } : {}),
    ...lists('organization', undefined),
    ...(estate.below.length === 0
      ? {}
      : { organizations: estate.below.map((each) => documentOf(each, false)) }),
  };
}
