// Assigns small ids to the groups and classes of an organisation; an id is never reused.
import type { Queries } from '../../platform/index.ts';
import type { PaymentGroup } from './reported-payment-types.ts';

export type GroupWithId = PaymentGroup & { readonly groupId: number };
export type ClassWithId = {
  readonly classId: number;
  readonly groupId: number;
  readonly state: string;
  readonly isFrequent: boolean;
};

export type GroupDictionary = {
  readonly groups: Map<string, number>;
  readonly classes: Map<string, number>;
  readonly frequentClassIds: Set<number>;
};

/** Beyond this number, new combinations are counted under the reason `Other`. */
const groupsMax = 20_000;

/** The group for all payments in a currency; no payment belongs to it directly. */
export const currencyGroup = (currency: string): PaymentGroup => ({
  kind: 'Card',
  scheme: '',
  entryMode: '',
  category: '',
  reason: '',
  currency,
});

export const groupKey = (group: PaymentGroup): string =>
  [group.kind, group.scheme, group.entryMode, group.category, group.reason, group.currency].join(
    '|',
  );
const classKey = (groupId: number, state: string): string => `${groupId}|${state}`;

const groupsSql = `SELECT group_id AS "groupId", kind, scheme, entry_mode AS "entryMode", category, reason,
    currency FROM report_groups WHERE organization_id = $1`;
const classesSql = `SELECT class_id AS "classId", group_id AS "groupId", state, is_frequent AS "isFrequent"
  FROM report_classes WHERE organization_id = $1`;
const insertGroupsSql = `INSERT INTO report_groups (organization_id, group_id, kind, scheme, entry_mode,
    category, reason, currency)
  SELECT $1, r.* FROM jsonb_to_recordset($2::jsonb) AS r("groupId" integer, kind text, scheme text,
    "entryMode" text, category text, reason text, currency text)`;
const insertClassesSql = `INSERT INTO report_classes (organization_id, class_id, group_id, state, payments)
  SELECT $1, r."classId", r."groupId", r.state, 0 FROM jsonb_to_recordset($2::jsonb)
    AS r("classId" integer, "groupId" integer, state text)`;

export const readGroups = (queries: Queries, organizationId: string): Promise<GroupWithId[]> =>
  queries.query<GroupWithId>(groupsSql, [organizationId]);

async function readDictionary(queries: Queries, organizationId: string): Promise<GroupDictionary> {
  const groups = await readGroups(queries, organizationId);
  const classes = await queries.query<ClassWithId>(classesSql, [organizationId]);
  return {
    groups: new Map(groups.map((group) => [groupKey(group), group.groupId])),
    classes: new Map(
      classes.map(({ classId, groupId, state }) => [classKey(groupId, state), classId]),
    ),
    frequentClassIds: new Set(
      classes.flatMap(({ classId, isFrequent }) => (isFrequent ? [classId] : [])),
    ),
  };
}

export type PaymentGroupAndStateIds = {
  readonly groupId: number;
  readonly classId: number;
  /** The class, if payments are indexed by it. */
  readonly rareClassId: number | undefined;
};
type GroupAndState = { readonly group: PaymentGroup; readonly state: string };

function findIds(
  { groups, classes, frequentClassIds }: GroupDictionary,
  { group, state }: GroupAndState,
): PaymentGroupAndStateIds | undefined {
  const groupId = groups.get(groupKey(group));
  const classId = groupId === undefined ? undefined : classes.get(classKey(groupId, state));
  if (groupId === undefined || classId === undefined) return undefined;
  return { groupId, classId, rareClassId: frequentClassIds.has(classId) ? undefined : classId };
}

/** @throws Error if no ids are assigned to the group */
export function requireIds(
  ids: PaymentGroupAndStateIds | undefined,
  { group, state }: GroupAndState,
): PaymentGroupAndStateIds {
  if (ids === undefined)
    throw new Error(`no ids are assigned to the group ${groupKey(group)} in the state ${state}`);
  return ids;
}

const maxId = (ids: Iterable<number>): number => Math.max(0, ...ids);

async function addMissing(
  queries: Queries,
  organizationId: string,
  { groups, classes }: GroupDictionary,
  groupsAndStates: readonly GroupAndState[],
): Promise<void> {
  const newGroups: GroupWithId[] = [];
  const newClasses: Omit<ClassWithId, 'isFrequent'>[] = [];
  let groupId = maxId(groups.values());
  let classId = maxId(classes.values());
  for (const { group, state } of groupsAndStates) {
    const text = groupKey(group);
    if (!groups.has(text)) {
      groupId += 1;
      groups.set(text, groupId);
      newGroups.push({ ...group, groupId });
    }
    const ownGroupId = groups.get(text) ?? 0;
    if (classes.has(classKey(ownGroupId, state))) continue;
    classId += 1;
    classes.set(classKey(ownGroupId, state), classId);
    newClasses.push({ classId, groupId: ownGroupId, state });
  }
  if (newGroups.length > 0) {
    await queries.query(insertGroupsSql, [organizationId, JSON.stringify(newGroups)]);
  }
  if (newClasses.length > 0) {
    await queries.query(insertClassesSql, [organizationId, JSON.stringify(newClasses)]);
  }
}

const limitGroups = ({ groups }: GroupDictionary, group: PaymentGroup): PaymentGroup =>
  groups.size < groupsMax || groups.has(groupKey(group))
    ? group
    : { ...group, scheme: '', entryMode: '', reason: 'Other' };

export type DictionarySession = {
  /**
   * Returns ids in the order of `groups`, and creates missing ones. The caller must hold the
   * lock of the organisation.
   */
  assignIds(queries: Queries, groups: readonly GroupAndState[]): Promise<PaymentGroupAndStateIds[]>;
  /** Later payments of these classes are not indexed by class. */
  addFrequentClasses(classIds: readonly number[]): void;
  /** Call this after the commit, so that the new ids may be cached. */
  cacheAfterCommit(): void;
};

/** Caches committed ids of at most this many organisations. */
const cachedOrganizationsMax = 200;

/** @example const dictionary = dictionaries.open(organizationId); */
export function createGroupDictionaries() {
  const cache = new Map<string, GroupDictionary>();

  function cacheDictionary(organizationId: string, dictionary: GroupDictionary): void {
    cache.delete(organizationId);
    cache.set(organizationId, dictionary);
    const [oldest] = cache.keys();
    if (cache.size > cachedOrganizationsMax && oldest !== undefined) cache.delete(oldest);
  }

  return {
    open(organizationId: string): DictionarySession {
      let newDictionary: GroupDictionary | undefined;
      const newFrequentClassIds: number[] = [];
      return {
        async assignIds(queries, groupsAndStates) {
          const cached = cache.get(organizationId);
          const cachedIds = groupsAndStates.map((each) => cached && findIds(cached, each));
          if (cachedIds.every((each) => each !== undefined)) return cachedIds;
          // Another process may have added ids while it held the lock.
          const dictionary = await readDictionary(queries, organizationId);
          const limited = groupsAndStates.map((each) => ({
            ...each,
            group: limitGroups(dictionary, each.group),
          }));
          await addMissing(queries, organizationId, dictionary, limited);
          newDictionary = dictionary;
          return limited.map((each) => requireIds(findIds(dictionary, each), each));
        },
        addFrequentClasses(classIds) {
          newFrequentClassIds.push(...classIds);
        },
        cacheAfterCommit() {
          if (newDictionary !== undefined) cacheDictionary(organizationId, newDictionary);
          const { frequentClassIds } = cache.get(organizationId) ?? {};
          for (const classId of newFrequentClassIds) frequentClassIds?.add(classId);
        },
      };
    },
  };
}
export type GroupDictionaries = ReturnType<typeof createGroupDictionaries>;
