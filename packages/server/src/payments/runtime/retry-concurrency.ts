// Limits concurrent retries for each acquirer link.

/** Limit for a link that responds or has not been used yet. */
export const maxRetriesPerLink = 16;
/** Limit for a link whose last retry had no response. */
export const maxRetriesPerUnresponsiveLink = 2;

export type RetryConcurrency = {
  /** False when the limit of the link is reached. */
  acquire(linkId: string): boolean;
  /** `answered` is left out where nothing was sent: that says nothing about the acquirer. */
  release(linkId: string, answered?: boolean): void;
};

/** @example const places = createRepeatPlaces(); if (places.take(linkId)) … */
export function createRetryConcurrency(): RetryConcurrency {
  const activeByLink = new Map<string, number>();
  const unresponsiveLinks = new Set<string>();
  return {
    acquire(linkId) {
      const activeCount = activeByLink.get(linkId) ?? 0;
      if (
        activeCount >=
        (unresponsiveLinks.has(linkId) ? maxRetriesPerUnresponsiveLink : maxRetriesPerLink)
      )
        return false;
      activeByLink.set(linkId, activeCount + 1);
      return true;
    },
    release(linkId, answered) {
      const remainingCount = (activeByLink.get(linkId) ?? 1) - 1;
      if (remainingCount === 0) activeByLink.delete(linkId);
      else activeByLink.set(linkId, remainingCount);
      if (answered === true) unresponsiveLinks.delete(linkId);
      if (answered === false) unresponsiveLinks.add(linkId);
    },
  };
}
