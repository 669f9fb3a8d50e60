// Wakes whoever waits for something to happen: at once in this process, by a look at versions across processes.
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import { createPoller, type Poller } from './poller.ts';

/** With the query and the read that follow, a change of another process is known within a second. */
const defaultLookEveryMs = 500;
/** Keys in one question to a source. */
const keysPerLook = 1000;
/** More than connections that wait: whoever waits holds one. */
export const listenersMax = 20_000;

/** What can be waited for: `kind` names its source, `key` the thing. */
export type Topic = { readonly kind: string; readonly key: string };

/**
 * How far the things of these keys have come. One that is not there is left out, and so may be one
 * that is no further than what everybody who waits for it has seen, which stands at the same place.
 */
export type VersionSource = (
  keys: readonly string[],
  seen: readonly number[],
) => Promise<ReadonlyMap<string, number>>;

export type Subscription = {
  /** The listener knows everything up to this version: it is not woken for that again. */
  seen(version: number): void;
  end(): void;
};

export type Live = {
  /** Who answers for a kind; before `start`. */
  source(kind: string, look: VersionSource): void;
  /** After the commit: wakes the listeners of this process that have seen less. */
  publish(topic: Topic, version: number): void;
  /**
   * Calls `wake` when the topic may have gone beyond `seen`: more often at times, never less. It is
   * called in the middle of others' work, so it only notes that there is something to read.
   *
   * @returns nothing where there are too many listeners
   */
  subscribe(topic: Topic, seen: number, wake: (version: number) => void): Subscription | undefined;
  start(): void;
  stop(): Promise<void>;
};

export type LiveDeps = { log: Log; metrics?: Metrics; lookEveryMs?: number };

/** `told` is what it was woken for last: a look does not wake it for the same again. */
type Listener = { seen: number; told: number; wake(version: number): void };
type Topics = Map<string, Set<Listener>>;

/** What everybody of them has seen or was told of. */
function leastSeen(listeners: Iterable<Listener> = []): number {
  let least = Number.MAX_SAFE_INTEGER;
  for (const { seen, told } of listeners) least = Math.min(least, Math.max(seen, told));
  return least === Number.MAX_SAFE_INTEGER ? 0 : least;
}

/**
 * No LISTEN: it needs a connection of its own through every pooler and is no part of engines that
 * speak PostgreSQL's protocol (ADR 0048). What a look costs grows with who waits, not with what happens.
 *
 * @example const live = createLive({ log }); const { end } = live.subscribe(topic, 0, wake);
 */
export function createLive({ log, metrics, lookEveryMs = defaultLookEveryMs }: LiveDeps): Live {
  const kinds = new Map<string, Topics>();
  /** Each source has its own, so that one that fails holds up no other. */
  const pollers: Poller[] = [];
  let listening = 0;

  function topicsOf(kind: string): Topics {
    const known = kinds.get(kind);
    if (known !== undefined) return known;
    const made: Topics = new Map();
    kinds.set(kind, made);
    return made;
  }

  function tell(listeners: Iterable<Listener>, version: number): void {
    for (const listener of listeners) {
      if (version <= listener.seen || version <= listener.told) continue;
      listener.told = version;
      listener.wake(version);
    }
  }

  async function lookAt(topics: Topics, look: VersionSource): Promise<boolean> {
    const keys = [...topics.keys()];
    for (let from = 0; from < keys.length; from += keysPerLook) {
      const asked = keys.slice(from, from + keysPerLook);
      const seen = asked.map((key) => leastSeen(topics.get(key)));
      const versions = await look(asked, seen);
      for (const [key, version] of versions) tell([...(topics.get(key) ?? [])], version);
    }
    return false;
  }

  metrics?.gauge({
    name: 'switchyard_live_listeners',
    help: 'Who waits in this process for something to happen',
    collect() {
      this.set(listening);
    },
  });

  return {
    source(kind, look) {
      const topics = topicsOf(kind);
      const onError = (error: unknown) =>
        log.error({ err: error, kind }, 'what is new could not be looked at');
      pollers.push(
        createPoller({ pollMs: lookEveryMs, turn: () => lookAt(topics, look), onError }),
      );
    },
    publish({ kind, key }, version) {
      const listeners = kinds.get(kind)?.get(key);
      if (listeners !== undefined) tell([...listeners], version);
    },
    subscribe({ kind, key }, seen, wake) {
      if (listening >= listenersMax) return undefined;
      const topics = topicsOf(kind);
      const listeners = topics.get(key) ?? new Set<Listener>();
      topics.set(key, listeners);
      const listener: Listener = { seen, told: seen, wake };
      listeners.add(listener);
      listening += 1;
      return {
        seen(version) {
          listener.seen = Math.max(listener.seen, version);
        },
        end() {
          if (!listeners.delete(listener)) return;
          listening -= 1;
          if (listeners.size === 0 && topics.get(key) === listeners) topics.delete(key);
        },
      };
    },
    start() {
      for (const { start } of pollers) start();
    },
    async stop() {
      await Promise.all(pollers.map(({ stop }) => stop()));
    },
  };
}
