/** What a device client tells while it runs, and to whom. */
import type { PeerMessage } from './data-connection.ts';
import type { DeviceError } from './errors.ts';
import type { ClaimedTraffic } from './traffic.ts';

/**
 * Where a device client is. `Waiting` is a pause before the next try; `Superseded` and `Stopped` last
 * until `start` is called.
 *
 * @example
 * const isReachable = (state: DeviceState) => state === 'Connected';
 */
export type DeviceState =
  | 'Stopped'
  | 'Registering'
  | 'Connecting'
  | 'Connected'
  | 'Waiting'
  | 'Superseded';

/**
 * A change of state.
 *
 * @example
 * client.on('state', ({ state, retryInMs }: StateChange) => log.info({ state, retryInMs }));
 */
export type StateChange = {
  readonly state: DeviceState;
  readonly at: number;
  /** Of `Waiting`. */
  readonly retryInMs?: number;
};

/**
 * Events of a device client. `error` tells of a try that failed; the client goes on by itself.
 *
 * @example
 * const onError: DeviceEvents['error'] = (error) => log.warn({ code: error.code });
 */
export type DeviceEvents = {
  state(change: StateChange): void;
  message(message: PeerMessage): void;
  /** A point of sale has claimed the terminal and data flows, or it has become quiet again. */
  claimedTraffic(traffic: ClaimedTraffic): void;
  error(error: DeviceError): void;
  /** Another process has connected as the same terminal; this one has stopped. */
  superseded(): void;
};

export type Emitter = {
  on<Name extends keyof DeviceEvents>(name: Name, listener: DeviceEvents[Name]): () => void;
  emit<Name extends keyof DeviceEvents>(name: Name, ...told: Parameters<DeviceEvents[Name]>): void;
};

type Listener = (...told: never[]) => void;

/** A listener that throws is the fault of its owner: it is told as an uncaught one, and stops nobody else. */
export function createEmitter(): Emitter {
  const listeners = new Map<keyof DeviceEvents, Set<Listener>>();
  return {
    on(name, listener) {
      const known = listeners.get(name) ?? new Set();
      listeners.set(name, known);
      known.add(listener);
      return () => known.delete(listener);
    },
    emit(name, ...told) {
      for (const listener of [...(listeners.get(name) ?? [])]) {
        try {
          listener(...(told as never[]));
        } catch (error) {
          queueMicrotask(() => {
            throw error;
          });
        }
      }
    },
  };
}
