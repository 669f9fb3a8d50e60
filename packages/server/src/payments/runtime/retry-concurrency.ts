// How many repeats may be under way at each acquirer, so that the silent leave places for the others.

/** At an acquirer that answers, or has not been asked yet. */
export const repeatsPerLink = 16;
/** At one whose last repeat went without an answer: enough to find out that it is back. */
export const repeatsPerSilentLink = 2;

export type RepeatPlaces = {
  /** False where the acquirer holds all that it may. */
  take(linkId: string): boolean;
  /** `answered` is left out where nothing was sent: that says nothing about the acquirer. */
  release(linkId: string, answered?: boolean): void;
};

/** @example const places = createRepeatPlaces(); if (places.take(linkId)) … */
export function createRepeatPlaces(): RepeatPlaces {
  const underWay = new Map<string, number>();
  const silent = new Set<string>();
  return {
    take(linkId) {
      const before = underWay.get(linkId) ?? 0;
      if (before >= (silent.has(linkId) ? repeatsPerSilentLink : repeatsPerLink)) return false;
      underWay.set(linkId, before + 1);
      return true;
    },
    release(linkId, answered) {
      const left = (underWay.get(linkId) ?? 1) - 1;
      if (left === 0) underWay.delete(linkId);
      else underWay.set(linkId, left);
      if (answered === true) silent.delete(linkId);
      if (answered === false) silent.add(linkId);
    },
  };
}
