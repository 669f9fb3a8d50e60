// Lists the predefined groups of an organisation or a merchant; they exist from its creation.
import {
  type Group,
  type GroupName,
  groupLevels,
  groupPermissions,
  groupRights,
  throwProblem,
} from '@switchyard/contract';
import {
  type Caller,
  type FoundPage,
  merchantOf,
  type PageRequest,
  readPage,
} from '../http/index.ts';

export type PredefinedGroupsDependencies = {
  /** Rejects if the organisation has no such merchant. */
  requireMerchant(organizationId: string, merchantId: string): Promise<void>;
};

export type PredefinedGroups = ReturnType<typeof createPredefinedGroups>;

const groupNames = Object.keys(groupLevels) as GroupName[];

function groupsOf(entityId: string, level: Group['level']): Group[] {
  const groupsOfLevel = groupNames.filter((group) => groupLevels[group] === level);
  return groupsOfLevel.sort().map((group) => ({
    name: `${entityId}_${group}`,
    group,
    entityId,
    level,
    rights: groupRights[group],
    permissions: [...groupPermissions[group]],
  }));
}

export function createPredefinedGroups({ requireMerchant }: PredefinedGroupsDependencies) {
  async function levelOf(caller: Caller, entityId: string): Promise<Group['level']> {
    const { organizationId } = caller;
    const merchantId = merchantOf(caller);
    if (merchantId !== undefined && entityId !== merchantId) {
      throwProblem('merchant_not_found', 'No merchant that you may see has this identifier.');
    }
    if (entityId === organizationId) return 'organization';
    await requireMerchant(organizationId, entityId);
    return 'merchant';
  }

  return {
    async list(
      caller: Caller,
      { entityId }: { readonly entityId?: string | undefined },
      page: PageRequest,
    ): Promise<FoundPage<Group>> {
      const requestedEntityId = (
        entityId ??
        merchantOf(caller) ??
        caller.organizationId
      ).toLowerCase();
      const all = groupsOf(requestedEntityId, await levelOf(caller, requestedEntityId));
      return readPage(
        page,
        async ({ limit, after = '' }) => all.filter(({ group }) => group > after).slice(0, limit),
        ({ group }) => group,
        (group) => group,
      );
    },
  };
}
