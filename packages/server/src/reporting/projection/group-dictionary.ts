// Assigns small numbers to the groups and classes of an organisation; numbers are never reused.
import type { RunQuery } from '../infrastructure/run-query.ts';
import type { Group } from './reported-payment-types.ts';

export type KnownGroup = Group & { readonly groupId: number };
export type KnownClass = {
  readonly classId: number;
  readonly groupId: number;
  readonly state: string;
};

export type Dictionary = {
  readonly groups: Map<string, number>;
  readonly classes: Map<string, number>;
};

/** Beyond this number, new combinations are counted under the reason `Other`. */
const groupsMax = 20_000;

/** The group for all payments in a currency; no payment belongs to it directly. */
export const currencyGroup = (currency: string): Group => ({
  kind: 'Card',
  scheme: '',
  entryMode: '',
  category: '',
  reason: '',
  currency,
});

export const groupText = (group: Group): string =>
  [group.kind, group.scheme, group.entryMode, group.category, group.reason, group.currency].join(
    '|',
  );
const classText = (groupId: number, state: string): string => `${groupId}|${state}`;

const groupsText = `SELECT group_id AS "groupId", kind, scheme, entry_mode AS "entryMode", category, reason,
    currency FROM report_groups WHERE organization_id = $1`;
const classesText = `SELECT class_id AS "classId", group_id AS "groupId", state
  FROM report_classes WHERE organization_id = $1`;
const addGroupsText = `INSERT INTO report_groups (organization_id, group_id, kind, scheme, entry_mode,
    category, reason, currency)
  SELECT $1, r.* FROM jsonb_to_recordset($2::jsonb) AS r("groupId" integer, kind text, scheme text,
    "entryMode" text, category text, reason text, currency text)`;
const addClassesText = `INSERT INTO report_classes (organization_id, class_id, group_id, state, payments)
  SELECT $1, r."classId", r."groupId", r.state, 0 FROM jsonb_to_recordset($2::jsonb)
    AS r("classId" integer, "groupId" integer, state text)`;

export const readGroups = (run: RunQuery, organizationId: string): Promise<KnownGroup[]> =>
  run<KnownGroup>(groupsText, [organizationId]);

async function read(run: RunQuery, organizationId: string): Promise<Dictionary> {
  const groups = await readGroups(run, organizationId);
  const classes = await run<KnownClass>(classesText, [organizationId]);
  return {
    groups: new Map(groups.map((group) => [groupText(group), group.groupId])),
    classes: new Map(
      classes.map(({ classId, groupId, state }) => [classText(groupId, state), classId]),
    ),
  };
}

export type Numbered = { readonly groupId: number; readonly classId: number };
type Wanted = { readonly group: Group; readonly state: string };

function find({ groups, classes }: Dictionary, { group, state }: Wanted): Numbered | undefined {
  const groupId = groups.get(groupText(group));
  const classId = groupId === undefined ? undefined : classes.get(classText(groupId, state));
  return groupId === undefined || classId === undefined ? undefined : { groupId, classId };
}

const highest = (numbers: Iterable<number>): number => Math.max(0, ...numbers);

async function add(
  run: RunQuery,
  organizationId: string,
  { groups, classes }: Dictionary,
  wanted: readonly Wanted[],
): Promise<void> {
  const newGroups: KnownGroup[] = [];
  const newClasses: KnownClass[] = [];
  let groupId = highest(groups.values());
  let classId = highest(classes.values());
  for (const { group, state } of wanted) {
    const text = groupText(group);
    if (!groups.has(text)) {
      groupId += 1;
      groups.set(text, groupId);
      newGroups.push({ ...group, groupId });
    }
    const own = groups.get(text) ?? 0;
    if (classes.has(classText(own, state))) continue;
    classId += 1;
    classes.set(classText(own, state), classId);
    newClasses.push({ classId, groupId: own, state });
  }
  if (newGroups.length > 0) {
    await run(addGroupsText, [organizationId, JSON.stringify(newGroups)]);
  }
  if (newClasses.length > 0) {
    await run(addClassesText, [organizationId, JSON.stringify(newClasses)]);
  }
}

const bounded = ({ groups }: Dictionary, group: Group): Group =>
  groups.size < groupsMax || groups.has(groupText(group))
    ? group
    : { ...group, scheme: '', entryMode: '', reason: 'Other' };

export type Numbering = {
  /**
   * Returns numbers in the order of `wanted`, and creates missing ones. The caller must hold the
   * lock of the organisation.
   */
  numbersOf(run: RunQuery, wanted: readonly Wanted[]): Promise<Numbered[]>;
  /** Call this after the commit, so that the new numbers may be cached. */
  keep(): void;
};

/** Caches committed numbers of at most this many organisations. */
const organizationsMax = 200;

/** @example const numbering = dictionaries.of(organizationId); */
export function createDictionaries() {
  const known = new Map<string, Dictionary>();

  function remember(organizationId: string, dictionary: Dictionary): void {
    known.delete(organizationId);
    known.set(organizationId, dictionary);
    const [oldest] = known.keys();
    if (known.size > organizationsMax && oldest !== undefined) known.delete(oldest);
  }

  return {
    of(organizationId: string): Numbering {
      let fresh: Dictionary | undefined;
      return {
        async numbersOf(run, wanted) {
          const remembered = known.get(organizationId);
          const found = wanted.map((each) => remembered && find(remembered, each));
          if (found.every((each) => each !== undefined)) return found;
          // Another process may have added numbers while it held the lock.
          const dictionary = await read(run, organizationId);
          const all = wanted.map((each) => ({
            ...each,
            group: bounded(dictionary, each.group),
          }));
          await add(run, organizationId, dictionary, all);
          fresh = dictionary;
          return all.map((each) => find(dictionary, each) ?? { groupId: 0, classId: 0 });
        },
        keep() {
          if (fresh !== undefined) remember(organizationId, fresh);
        },
      };
    },
  };
}
export type Dictionaries = ReturnType<typeof createDictionaries>;
