// Limits the operations in progress in this process, for each key and in total.

export type Places = {
  /** @returns a function that frees the place, or the limit that is reached */
  take(key: string): (() => void) | 'OwnFull' | 'Full';
  size(): number;
};

/** @example const taken = createPlaces({ each: 1000, inAll: 10_000 }).take(clientKeyOf(caller)); */
export function createPlaces({ each, inAll }: { each: number; inAll: number }): Places {
  const byKey = new Map<string, number>();
  let taken = 0;
  return {
    size: () => taken,
    take(key) {
      const own = byKey.get(key) ?? 0;
      if (own >= each) return 'OwnFull';
      if (taken >= inAll) return 'Full';
      byKey.set(key, own + 1);
      taken += 1;
      let isLeft = false;
      return () => {
        if (isLeft) return;
        isLeft = true;
        taken -= 1;
        const left = (byKey.get(key) ?? 1) - 1;
        if (left > 0) byKey.set(key, left);
        else byKey.delete(key);
      };
    },
  };
}
