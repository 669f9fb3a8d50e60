/** A part of an estate: what belongs to some merchants. Pure. */
import type { Estate, KindName, Thing } from './estate-model.ts';

/** Of one merchant, or of none: whatever belongs to others is not part of it. */
export function narrowed(estate: Estate, only: readonly string[]): Estate {
  const merchantOf = (thing: Thing): string | undefined => {
    for (let each: Thing | undefined = thing; each !== undefined; each = each.parent) {
      if (each.kind === 'merchant') return each.key;
    }
    const { merchant } = thing.members;
    return typeof merchant === 'string' ? merchant : undefined;
  };
  const shown: readonly KindName[] = ['merchant', 'physicalDevice', 'user', 'application'];
  const nested: readonly KindName[] = [
    'acquirerContract',
    'store',
    'logicalDevice',
    'pointOfSale',
    'activation',
    'configuration',
  ];
  const kept = [...shown, ...nested].filter((name) => estate.managed.has(name));
  return {
    ...estate,
    things: estate.things.filter((thing) => only.includes(merchantOf(thing) ?? '')),
    below: [],
    managed: new Set(kept),
    only,
  };
}
