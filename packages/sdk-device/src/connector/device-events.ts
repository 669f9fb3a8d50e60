/** The events of a device client and the emitter that calls their listeners. */

import type { DeviceError } from '../support/device-error.ts';
import type { ReceivedMessage } from './data-connection.ts';
import type { PosActivity } from './pos-activity.ts';

/**
 * The state of a device client. `Waiting` is the pause before the next attempt. `Superseded` and
 * `Stopped` last until the next `start`.
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
  /** Only with `Waiting`. */
  readonly retryInMs?: number;
};

/**
 * Events of a device client. `error` reports a failed attempt; the client continues by itself.
 *
 * @example
 * const onError: DeviceEvents['error'] = (error) => log.warn({ code: error.code });
 */
export type DeviceEvents = {
  state(change: StateChange): void;
  message(message: ReceivedMessage): void;
  /** A point of sale started to send data to the terminal, or stopped. */
  posActivity(traffic: PosActivity): void;
  error(error: DeviceError): void;
  /** Another process connected as the same terminal, so this client stopped. */
  superseded(): void;
};

export type Emitter = {
  on<Name extends keyof DeviceEvents>(name: Name, listener: DeviceEvents[Name]): () => void;
  emit<Name extends keyof DeviceEvents>(name: Name, ...args: Parameters<DeviceEvents[Name]>): void;
};

type EventListener = (...args: never[]) => void;

/** A listener's exception becomes an uncaught exception, and the other listeners still run. */
export function createEmitter(): Emitter {
  const listeners = new Map<keyof DeviceEvents, Set<EventListener>>();
  return {
    on(name, listener) {
      const listenersOfEvent = listeners.get(name) ?? new Set();
      listeners.set(name, listenersOfEvent);
      listenersOfEvent.add(listener);
      return () => listenersOfEvent.delete(listener);
    },
    emit(name, ...args) {
      for (const listener of [...(listeners.get(name) ?? [])]) {
        try {
          listener(...(args as never[]));
        } catch (error) {
          queueMicrotask(() => {
            throw error;
          });
        }
      }
    },
  };
}
