// Wakes whoever waits for something to happen: at once in this process, by a look at versions across processes.

import { createPoller, type Poller } from '../concurrency/poller.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';

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
 * that is no further than what everybody who waits for it has seen, which stands at the same place. Of
 * questions in a row that ask the same the arrays are the same ones: what is made of them may be kept.
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

/**
 * What one question asks about. Its text is made once for as long as nobody comes, goes or hears anything:
 * of thousands who wait, most wait in silence.
 */
type Group = {
  readonly topics: Map<string, Set<Listener>>;
  keys: readonly string[] | undefined;
  seen: readonly number[] | undefined;
};
type Kind = { readonly places: Map<string, Group>; readonly groups: Set<Group> };

/** What everybody of them has seen or was told of. */
function leastSeen(listeners: Iterable<Listener> = []): number {
  let least = Number.MAX_SAFE_INTEGER;
  for (const { seen, told } of listeners) least = Math.min(least, Math.max(seen, told));
  return least === Number.MAX_SAFE_INTEGER ? 0 : least;
}

function groupWithRoom({ groups }: Kind): Group {
  for (const group of groups) if (group.topics.size < keysPerLook) return group;
  const made: Group = { topics: new Map(), keys: undefined, seen: undefined };
  groups.add(made);
  return made;
}

function groupOf(kind: Kind, key: string): Group {
  const known = kind.places.get(key);
  if (known !== undefined) return known;
  const group = groupWithRoom(kind);
  kind.places.set(key, group);
  group.topics.set(key, new Set());
  group.keys = undefined;
  return group;
}

function leave(kind: Kind, key: string, group: Group): void {
  group.topics.delete(key);
  kind.places.delete(key);
  group.keys = undefined;
  if (group.topics.size === 0) kind.groups.delete(group);
}

function tell(group: Group, listeners: Iterable<Listener>, version: number): void {
  for (const listener of listeners) {
    if (version <= listener.seen || version <= listener.told) continue;
    listener.told = version;
    group.seen = undefined;
    listener.wake(version);
  }
}

async function lookAt({ groups }: Kind, look: VersionSource): Promise<boolean> {
  for (const group of [...groups]) {
    if (group.topics.size === 0) continue;
    if (group.keys === undefined) group.seen = undefined;
    group.keys ??= [...group.topics.keys()];
    group.seen ??= group.keys.map((key) => leastSeen(group.topics.get(key)));
    const versions = await look(group.keys, group.seen);
    for (const [key, version] of versions) tell(group, [...(group.topics.get(key) ?? [])], version);
  }
  return false;
}

/**
 * No LISTEN: it needs a connection of its own through every pooler and is no part of engines that
 * speak PostgreSQL's protocol (ADR 0048). What a look costs grows with who waits, not with what happens.
 *
 * @example const live = createLive({ log }); const { end } = live.subscribe(topic, 0, wake);
 */
export function createLive({ log, metrics, lookEveryMs = defaultLookEveryMs }: LiveDeps): Live {
  const kinds = new Map<string, Kind>();
  /** Each source has its own, so that one that fails holds up no other. */
  const pollers: Poller[] = [];
  let listening = 0;

  function kindOf(name: string): Kind {
    const known = kinds.get(name);
    if (known !== undefined) return known;
    const made: Kind = { places: new Map(), groups: new Set() };
    kinds.set(name, made);
    return made;
  }

  metrics?.gauge({
    name: 'switchyard_live_listeners',
    help: 'Who waits in this process for something to happen',
    collect() {
      this.set(listening);
    },
  });

  return {
    source(name, look) {
      const kind = kindOf(name);
      const onError = (error: unknown) =>
        log.error({ err: error, kind: name }, 'what is new could not be looked at');
      pollers.push(createPoller({ pollMs: lookEveryMs, turn: () => lookAt(kind, look), onError }));
    },
    publish({ kind, key }, version) {
      const group = kinds.get(kind)?.places.get(key);
      if (group !== undefined) tell(group, [...(group.topics.get(key) ?? [])], version);
    },
    subscribe({ kind: name, key }, seen, wake) {
      if (listening >= listenersMax) return undefined;
      const kind = kindOf(name);
      const group = groupOf(kind, key);
      const listeners = group.topics.get(key) ?? new Set<Listener>();
      const listener: Listener = { seen, told: seen, wake };
      listeners.add(listener);
      group.seen = undefined;
      listening += 1;
      return {
        seen(version) {
          if (version <= listener.seen) return;
          listener.seen = version;
          group.seen = undefined;
        },
        end() {
          if (!listeners.delete(listener)) return;
          listening -= 1;
          group.seen = undefined;
          if (listeners.size === 0) leave(kind, key, group);
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
