import type { Estate, Resource, ResourceKind } from './estate-model.ts';

/** The part of an estate that belongs to these merchants. Pure. */
export function filterByMerchants(estate: Estate, only: readonly string[]): Estate {
  const merchantOf = (resource: Resource): string | undefined => {
    for (let each: Resource | undefined = resource; each !== undefined; each = each.parent) {
      if (each.kind === 'merchant') return each.key;
    }
    const { merchant } = resource.members;
    return typeof merchant === 'string' ? merchant : undefined;
  };
  const ownedKinds: readonly ResourceKind[] = ['merchant', 'physicalDevice', 'user', 'application'];
  const nestedKinds: readonly ResourceKind[] = [
    'acquirerContract',
    'store',
    'logicalDevice',
    'pointOfSale',
    'activation',
    'configuration',
  ];
  const includedKinds = [...ownedKinds, ...nestedKinds].filter((name) => estate.managed.has(name));
  return {
    ...estate,
    resources: estate.resources.filter((resource) => only.includes(merchantOf(resource) ?? '')),
    subOrganizations: [],
    managed: new Set(includedKinds),
    only,
  };
}
