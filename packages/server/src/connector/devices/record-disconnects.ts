// Records disconnected devices in the database, in the background.
import type { Log } from '../../platform/index.ts';
import type { PresenceStore } from './device-presence.ts';

type Deps = { readonly presence: Pick<PresenceStore, 'disconnect'>; readonly log: Log };

/** @example const departures = createDepartures({ presence, log }); departures.note(device, connectionId); */
export function createDepartures({ presence, log }: Deps) {
  const noting = new Set<Promise<void>>();
  return {
    note(...[device, connectionId]: Parameters<PresenceStore['disconnect']>): void {
      const noted = presence
        .disconnect(device, connectionId)
        .catch((error: unknown) => {
          log.error({ err: error }, 'that a device went offline could not be noted');
        })
        .finally(() => noting.delete(noted));
      noting.add(noted);
    },
    /** Resolves when all pending writes have finished. */
    async settled(): Promise<void> {
      await Promise.all(noting);
    },
  };
}
