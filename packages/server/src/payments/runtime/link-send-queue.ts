// FIFO queue for each acquirer link: messages are sent in order of arrival.

/** @example const entry = queue.enter(linkId); await entry.ready; send(); entry.release(); */
export function createSendQueue() {
  const lastEntryByLink = new Map<string, Promise<void>>();
  return {
    /** `ready` resolves after all earlier entries are released. A second `release` has no effect. */
    enter(linkId: string) {
      const ready = lastEntryByLink.get(linkId) ?? Promise.resolve();
      const released = Promise.withResolvers<void>();
      // An early release must not let the next entry overtake earlier entries.
      const finished = ready.then(() => released.promise);
      lastEntryByLink.set(linkId, finished);
      void finished.then(() => {
        if (lastEntryByLink.get(linkId) === finished) lastEntryByLink.delete(linkId);
      });
      return { ready, release: released.resolve };
    },
  };
}
