// Finds the entity of an activation or a configuration, within the scope of the caller.
import { type ActivationLevel, throwProblem } from '@switchyard/contract';
import type { Scope } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import { demandOrganization } from '../infrastructure/request-checks.ts';
import type { Place } from './activation-sql.ts';

type Finder = (
  provisioning: CatalogDeps['provisioning'],
  scope: Scope,
  id: string,
) => Promise<Place>;

const finders: Readonly<Record<ActivationLevel, Finder>> = {
  async Organization(_provisioning, scope, entityId) {
    demandOrganization(scope, 'decides for itself');
    if (entityId === scope.organizationId) return { level: 'Organization', entityId };
    return throwProblem(
      'organization_not_found',
      'No organisation in your scope has this identifier.',
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

/** @example const place = await findPlace(provisioning, scope, { level: 'Store', entityId }); */
export const findPlace = (
  provisioning: CatalogDeps['provisioning'],
  scope: Scope,
  { level, entityId }: { readonly level: ActivationLevel; readonly entityId: string },
): Promise<Place> => finders[level](provisioning, scope, entityId.toLowerCase());
