// Tells which groups an organisation or a merchant has: they are there from its first moment.
import {
  type Group,
  type GroupName,
  groupLevels,
  groupPermissions,
  groupRights,
  refuse,
} from '@switchyard/contract';
import type { Caller, FoundPage, PageRequest } from '../http/index.ts';
import { merchantOf } from './caller-scope.ts';

export type GroupsDeps = {
  /** Rejects where the organisation has no such merchant. */
  demandMerchant(organizationId: string, merchantId: string): Promise<void>;
};

export type Groups = ReturnType<typeof createGroups>;

const names = Object.keys(groupLevels) as GroupName[];

function groupsOf(entityId: string, level: Group['level']): Group[] {
  const own = names.filter((group) => groupLevels[group] === level);
  return own.sort().map((group) => ({
    name: `${entityId}_${group}`,
    group,
    entityId,
    level,
    rights: groupRights[group],
    permissions: [...groupPermissions[group]],
  }));
}

export function createGroups({ demandMerchant }: GroupsDeps) {
  async function levelOf(caller: Caller, entityId: string): Promise<Group['level']> {
    const { organizationId } = caller;
    const merchantId = merchantOf(caller);
    if (merchantId !== undefined && entityId !== merchantId) {
      refuse('merchant_not_found', 'No merchant in your scope has this identifier.');
    }
    if (entityId === organizationId) return 'organization';
    await demandMerchant(organizationId, entityId);
    return 'merchant';
  }

  return {
    async list(
      caller: Caller,
      { entityId }: { readonly entityId?: string | undefined },
      { limit, after = '' }: PageRequest,
    ): Promise<FoundPage<Group>> {
      const wanted = (entityId ?? merchantOf(caller) ?? caller.organizationId).toLowerCase();
      const all = groupsOf(wanted, await levelOf(caller, wanted));
      const left = all.filter(({ group }) => group > after);
      const items = left.slice(0, limit);
      return { items, next: left.length > limit ? items.at(-1)?.group : undefined };
    },
  };
}
