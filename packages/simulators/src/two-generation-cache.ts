// A bounded cache of two generations: a value that is not set again is dropped after two rotations.

export type TwoGenerationCache<Value> = {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  /** Drops the elder generation; the younger one becomes the elder. */
  rotate(): void;
  values(): Iterable<Value>;
};

// Two maps rather than one that evicts its oldest entry: a map that is emptied from the front has
// to step over what was deleted.
export function createTwoGenerationCache<Value>(): TwoGenerationCache<Value> {
  let young = new Map<string, Value>();
  let elder = new Map<string, Value>();

  return {
    get: (key) => young.get(key) ?? elder.get(key),
    set(key, value) {
      young.set(key, value);
    },
    rotate() {
      elder = young;
      young = new Map();
    },
    *values() {
      for (const [key, value] of elder) if (!young.has(key)) yield value;
      yield* young.values();
    },
  };
}
