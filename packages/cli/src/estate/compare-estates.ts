/** What would have to be done so that the server holds what the file says. Pure. */
import { defined } from '@switchyard/contract';
import {
  type Estate,
  isObject,
  type Json,
  type KindName,
  type Members,
  same,
  type Thing,
} from './estate-model.ts';
import { narrowed } from './filter-estate.ts';
import { kindOf, kinds } from './resource-kinds.ts';

export type MemberChange = {
  readonly member: string;
  readonly before?: Json;
  readonly after?: Json;
};

export type Change = {
  readonly action: 'create' | 'change' | 'remove';
  /** The wanted thing; of a removal the present one. */
  readonly thing: Thing;
  readonly present?: Thing;
  readonly members: readonly MemberChange[];
};

/** The differences of one organisation, in the order of the kinds; those below in plans of their own. */
export type Plan = {
  readonly organization: Thing;
  readonly present: Estate | undefined;
  readonly wanted: Estate;
  readonly changes: readonly Change[];
  /** Wanted things and what they are at the server. */
  readonly matches: ReadonlyMap<Thing, Thing>;
  readonly unchanged: number;
  readonly below: readonly Plan[];
};

/** Only what the file says counts: `address` of a user stays where the file has none. */
const keptUnlessSaid: Readonly<Partial<Record<KindName, readonly string[]>>> = {
  user: ['address'],
};
/** In any order the same. */
const unordered = [
  'groups',
  'physicalDevices',
  'services',
  'roles',
  'securityFlows',
  'redirectUris',
  'webOrigins',
];

function normal(member: string, value: Json | undefined): Json | undefined {
  return unordered.includes(member) && Array.isArray(value) ? [...value].map(String).sort() : value;
}

/** Objects member by member, so that a changed city shows as a changed city. */
function* memberChanges(
  member: string,
  before: Json | undefined,
  after: Json | undefined,
): Generator<MemberChange> {
  if (same(before, after)) return;
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

function changesOf(
  wanted: Thing,
  present: Thing,
  presentRef: (thing: Thing) => Members,
): MemberChange[] {
  const asked = presentRef(wanted);
  const kept = keptUnlessSaid[wanted.kind] ?? [];
  const names = [...new Set([...Object.keys(present.members), ...Object.keys(asked)])].sort();
  return names
    .filter((name) => !(kept.includes(name) && asked[name] === undefined))
    .flatMap((name) => [
      ...memberChanges(name, normal(name, present.members[name]), normal(name, asked[name])),
    ]);
}

/** Children of a thing by kind, and by key or id. */
function indexOf(things: readonly Thing[]) {
  const byKey = new Map<Thing | undefined, Map<string, Thing>>();
  const byId = new Map<string, Thing>();
  for (const thing of things) {
    const siblings = byKey.get(thing.parent) ?? new Map<string, Thing>();
    byKey.set(thing.parent, siblings);
    siblings.set(`${thing.kind} ${thing.key}`, thing);
    if (thing.id !== undefined) byId.set(`${thing.kind} ${thing.id}`, thing);
  }
  return { byKey, byId };
}

const isNamed = ({ members }: Thing): boolean => members['externalId'] !== undefined;
const twinsMost = 20;

function* twinsOf(key: string): Generator<string> {
  const base = key.replace(/~\d+$/, '');
  yield base;
  for (let count = 2; count <= twinsMost; count += 1) yield `${base}~${count}`;
}

/** By id first where the file has one, then by key among what stands below the same thing. */
function match(wanted: Estate, present: Estate): Map<Thing, Thing> {
  const { byKey, byId } = indexOf(present.things);
  const matches = new Map<Thing, Thing>();
  const taken = new Set<Thing>();
  const note = (one: Thing, other: Thing | undefined) => {
    if (other === undefined || taken.has(other) || matches.has(one)) return;
    matches.set(one, other);
    taken.add(other);
  };
  for (const { name } of kinds) {
    const things = wanted.things.filter(({ kind }) => kind === name);
    const parentOf = ({ parent }: Thing) =>
      parent === undefined ? undefined : matches.get(parent);
    const canMatch = (thing: Thing) => thing.parent === undefined || parentOf(thing) !== undefined;
    for (const thing of things.filter(({ id }) => id !== undefined)) {
      const found = byId.get(`${name} ${thing.id}`);
      if (canMatch(thing) && found?.parent === parentOf(thing)) note(thing, found);
    }
    for (const thing of things) {
      if (matches.has(thing) || !canMatch(thing)) continue;
      note(thing, byKey.get(parentOf(thing))?.get(`${name} ${thing.key}`));
    }
    for (const thing of things) {
      if (matches.has(thing) || !canMatch(thing) || isNamed(thing)) continue;
      // The number of a twin changes when another one gets a name of its own.
      const siblings = byKey.get(parentOf(thing));
      for (const key of twinsOf(thing.key)) {
        const twin = siblings?.get(`${name} ${key}`);
        if (twin !== undefined && !isNamed(twin)) note(thing, twin);
      }
    }
  }
  return matches;
}

/** What is not there at the server, or nobody's to remove: a user that is switched off, a retired service. */
function isGone({ kind, members }: Thing): boolean {
  if (kind === 'user') return members['status'] === 'deactivated';
  if (kind === 'service') return members['status'] === 'Retired';
  if (kind === 'activation') return members['active'] === false;
  return false;
}

/** The wanted members with the keys that their references have at the server now. */
function translating(
  wanted: Estate,
  matches: ReadonlyMap<Thing, Thing>,
): (thing: Thing) => Members {
  const byKey = new Map(wanted.things.map((thing) => [`${thing.kind} ${thing.key}`, thing]));
  const keyNow = (kind: KindName, key: string): string => {
    const thing = byKey.get(`${kind} ${key}`);
    return (thing === undefined ? undefined : matches.get(thing)?.key) ?? key;
  };
  return ({ kind, members }) => {
    const now: Record<string, Json> = { ...members };
    for (const reference of kindOf(kind).references) {
      const value = now[reference.member];
      if (typeof value === 'string') now[reference.member] = keyNow(reference.kind, value);
      if (Array.isArray(value))
        now[reference.member] = value.map((key) => keyNow(reference.kind, String(key)));
    }
    return now;
  };
}

const created = (thing: Thing): Change => ({
  action: 'create',
  thing,
  members: Object.entries(thing.members).map(([member, after]) => ({ member, after })),
});

function organizationChange(wanted: Estate, present: Estate | undefined): Change[] {
  if (present === undefined) return [created(wanted.organization)];
  if (!wanted.managed.has('organization')) return [];
  const members = changesOf(wanted.organization, present.organization, ({ members: same }) => same);
  if (members.length === 0) return [];
  return [{ action: 'change', thing: wanted.organization, present: present.organization, members }];
}

function comparedThings(
  wanted: Estate,
  present: Estate,
): Pick<Plan, 'changes' | 'matches' | 'unchanged'> {
  const matches = match(wanted, present);
  const translate = translating(wanted, matches);
  const changes: Change[] = [];
  let unchanged = 0;
  for (const thing of wanted.things) {
    const found = matches.get(thing);
    if (found === undefined) {
      changes.push(created(thing));
      continue;
    }
    const members = changesOf(thing, found, translate);
    if (members.length === 0) unchanged += 1;
    else changes.push({ action: 'change', thing, present: found, members });
  }
  const matched = new Set(matches.values());
  for (const thing of present.things) {
    if (matched.has(thing) || !wanted.managed.has(thing.kind) || isGone(thing)) continue;
    changes.push({ action: 'remove', thing, present: thing, members: [] });
  }
  return { changes, matches, unchanged };
}

/** @param present undefined where the organisation is not there yet */
export function compare(wanted: Estate, present: Estate | undefined): Plan {
  const narrow =
    present !== undefined && wanted.only !== undefined ? narrowed(present, wanted.only) : present;
  const own = organizationChange(wanted, narrow);
  const { changes, matches, unchanged } =
    narrow === undefined
      ? { changes: wanted.things.map(created), matches: new Map<Thing, Thing>(), unchanged: 0 }
      : comparedThings(wanted, narrow);
  const left = [...(narrow?.below ?? [])];
  const below = wanted.below.map((each) => {
    const { id, key } = each.organization;
    const at = left.findIndex(
      ({ organization }) => organization.id === id || organization.key === key,
    );
    return compare(each, at < 0 ? undefined : left.splice(at, 1)[0]);
  });
  return {
    organization: wanted.organization,
    wanted,
    present,
    changes: [...own, ...changes],
    matches,
    unchanged,
    below,
  };
}

/** All plans, the upper ones first. */
export function* plansOf(plan: Plan): Generator<Plan> {
  yield plan;
  for (const each of plan.below) yield* plansOf(each);
}
