// Finds the entity of an activation or a configuration, within the scope of the caller.
import { type ActivationLevel, throwProblem } from '@switchyard/contract';
import type { CallerScope } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import { requireOrganizationScope } from '../infrastructure/request-checks.ts';
import type { EntityPath } from './activation-sql.ts';

type FindEntity = (
  provisioning: CatalogDeps['provisioning'],
  scope: CallerScope,
  id: string,
) => Promise<EntityPath>;

const findersByLevel: Readonly<Record<ActivationLevel, FindEntity>> = {
  async Organization(_provisioning, scope, entityId) {
    requireOrganizationScope(scope, 'activate or configure services for the whole organisation');
    if (entityId === scope.organizationId) return { level: 'Organization', entityId };
    return throwProblem(
      'organization_not_found',
      'No organisation that you may see has this identifier.',
    );
  },
  async Merchant({ merchants }, scope, id) {
    const { merchantId } = (await merchants.get(scope, id)).view;
    return { level: 'Merchant', entityId: merchantId, merchantId };
  },
  async Store({ stores }, scope, id) {
    const { storeId, merchantId } = (await stores.get(scope, id)).view;
    return { level: 'Store', entityId: storeId, merchantId, storeId };
  },
  async LogicalDevice({ logicalDevices }, scope, id) {
    const { logicalDeviceId, storeId, merchantId } = (await logicalDevices.get(scope, id)).view;
    return { level: 'LogicalDevice', entityId: logicalDeviceId, merchantId, storeId };
  },
};

/** @example const entity = await findEntity(provisioning, scope, { level: 'Store', entityId }); */
export const findEntity = (
  provisioning: CatalogDeps['provisioning'],
  scope: CallerScope,
  { level, entityId }: { readonly level: ActivationLevel; readonly entityId: string },
): Promise<EntityPath> => findersByLevel[level](provisioning, scope, entityId.toLowerCase());
