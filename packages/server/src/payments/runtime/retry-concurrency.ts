// Limits concurrent retries for each acquirer link.

/** Limit for a link that responds or has not been used yet. */
export const maxRetriesPerLink = 16;
/** Limit for a link whose last retry had no response. */
export const maxRetriesPerUnresponsiveLink = 2;

/** @example const concurrency = createRetryConcurrency(); if (concurrency.acquire(linkId)) … */
export function createRetryConcurrency() {
  const activeByLink = new Map<string, number>();
  const unresponsiveLinks = new Set<string>();
  return {
    /** False when the limit of the link is reached. */
    acquire(linkId: string): boolean {
      const activeCount = activeByLink.get(linkId) ?? 0;
      const isUnresponsive = unresponsiveLinks.has(linkId);
      const limit = isUnresponsive ? maxRetriesPerUnresponsiveLink : maxRetriesPerLink;
      if (activeCount >= limit) return false;
      activeByLink.set(linkId, activeCount + 1);
      return true;
    },
    /** @param hasResponse absent if nothing was sent */
    release(linkId: string, hasResponse?: boolean): void {
      const remainingCount = (activeByLink.get(linkId) ?? 1) - 1;
      if (remainingCount === 0) activeByLink.delete(linkId);
      else activeByLink.set(linkId, remainingCount);
      if (hasResponse === true) unresponsiveLinks.delete(linkId);
      if (hasResponse === false) unresponsiveLinks.add(linkId);
    },
  };
}
