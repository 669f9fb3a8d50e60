// FIFO queue for each acquirer link: messages are sent in order of arrival.

export type SendQueueEntry = {
  /** Resolves after all earlier entries are released. */
  ready: Promise<void>;
  /** Releases the next entry. A second call has no effect. */
  release(): void;
};

export type SendQueue = { enter(linkId: string): SendQueueEntry };

/** @example const entry = queue.enter(linkId); await entry.ready; send(); entry.release(); */
export function createSendQueue(): SendQueue {
  const lastEntryByLink = new Map<string, Promise<void>>();
  return {
    enter(linkId) {
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
