// The groups of an organisation by their numbers, remembered: numbers are given in order and never anew.
import type { KnownGroup } from '../projection/dictionary.ts';
import type { RunQuery } from '../run.ts';

export type Groups = {
  /** All that are committed, as of the question: only those that are new are read. */
  of(run: RunQuery, organizationId: string): Promise<ReadonlyMap<number, KnownGroup>>;
};

const newGroupsText = `SELECT group_id AS "groupId", kind, scheme, entry_mode AS "entryMode", category, reason,
    currency FROM report_groups WHERE organization_id = $1 AND group_id > $2 ORDER BY group_id`;

type Kept = { readonly groups: Map<number, KnownGroup>; highest: number };

const organizationsMax = 200;

/** @example const groups = await createGroups().of(run, organizationId); */
export function createGroups(): Groups {
  const kept = new Map<string, Kept>();

  function keptOf(organizationId: string): Kept {
    const known = kept.get(organizationId) ?? { groups: new Map(), highest: 0 };
    kept.delete(organizationId);
    kept.set(organizationId, known);
    const [oldest] = kept.keys();
    if (kept.size > organizationsMax && oldest !== undefined) kept.delete(oldest);
    return known;
  }

  return {
    async of(run, organizationId) {
      const known = keptOf(organizationId);
      const added = await run<KnownGroup>(newGroupsText, [organizationId, known.highest]);
      for (const group of added) {
        known.groups.set(group.groupId, group);
        known.highest = Math.max(known.highest, group.groupId);
      }
      return known.groups;
    },
  };
}
