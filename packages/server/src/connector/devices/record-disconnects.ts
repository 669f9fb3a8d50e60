// Records disconnected devices in the database, in the background.
import type { Log } from '../../platform/index.ts';
import type { PresenceStore } from './device-presence.ts';

type Deps = { readonly presence: Pick<PresenceStore, 'disconnect'>; readonly log: Log };

/** @example const recorder = createDisconnectRecorder({ presence, log }); recorder.record(device, connectionId); */
export function createDisconnectRecorder({ presence, log }: Deps) {
  const pendingWrites = new Set<Promise<void>>();
  return {
    record(...[device, connectionId]: Parameters<PresenceStore['disconnect']>): void {
      const write = presence
        .disconnect(device, connectionId)
        .catch((error: unknown) => {
          log.error({ err: error }, 'the server could not store that a device went offline');
        })
        .finally(() => pendingWrites.delete(write));
      pendingWrites.add(write);
    },
    /** Resolves when all pending writes have finished. */
    async waitForIdle(): Promise<void> {
      await Promise.all(pendingWrites);
    },
  };
}
