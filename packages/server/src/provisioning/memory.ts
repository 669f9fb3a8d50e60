// Remembers what the hot questions answered a moment ago, until this process changes something.
import { LRUCache } from 'lru-cache';
import { type Clock, lruCacheOptions } from '../platform/index.ts';

const rememberedMax = 10_000;
/** How long another process's change may stay unseen; changes of this one are seen at once. */
const rememberedMs = 5000;

type Remembered<Value> = {
  readonly organizationId: string;
  readonly value: Promise<Value>;
  readonly until: number;
};

/**
 * A bounded memory of promises: whoever asks while the answer is on its way waits for the same
 * one, and a refusal is never remembered.
 */
export function createMemory<Value>(clock: Clock) {
  const remembered = new LRUCache<string, Remembered<Value>>(lruCacheOptions(rememberedMax));
  return {
    /** @param alsoAs - another key that asks for the same */
    get(
      organizationId: string,
      key: string,
      load: () => Promise<Value>,
      alsoAs?: (value: Value) => string | undefined,
    ): Promise<Value> {
      const now = clock.now();
      const known = remembered.get(key);
      if (known !== undefined && now < known.until) return known.value;
      const entry = { organizationId, value: load(), until: now + rememberedMs };
      remembered.set(key, entry);
      // What was forgotten while it was read is not remembered again.
      const isKept = () => remembered.peek(key) === entry;
      entry.value.then(
        (value) => {
          const other = alsoAs?.(value);
          if (other !== undefined && isKept()) remembered.set(other, entry);
        },
        () => isKept() && remembered.delete(key),
      );
      return entry.value;
    },
    forget(organizationId: string): void {
      for (const [key, entry] of remembered.entries()) {
        if (entry.organizationId === organizationId) remembered.delete(key);
      }
    },
    clear: () => remembered.clear(),
  };
}
