// Wakes whoever waits for something to happen: at once in this process, by a look at versions across processes.

import { createPoller, type Poller } from '../concurrency/poller.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';

/** With the query and the read that follow, a change of another process is known within a second. */
const defaultPollMs = 500;
/** Keys in one question to a source. */
const keysPerPoll = 1000;
/** More than connections that wait: whoever waits holds one. */
export const maxListeners = 20_000;

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
  acknowledge(version: number): void;
  end(): void;
};

export type ChangeNotifier = {
  /** Who answers for a kind; before `start`. */
  addSource(kind: string, readVersions: VersionSource): void;
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

export type ChangeNotifierDeps = { log: Log; metrics?: Metrics; pollMs?: number };

/** `told` is what it was woken for last: a look does not wake it for the same again. */
type Listener = { seenVersion: number; notifiedVersion: number; wake(version: number): void };

/**
 * What one question asks about. Its text is made once for as long as nobody comes, goes or hears anything:
 * of thousands who wait, most wait in silence.
 */
type Group = {
  readonly topics: Map<string, Set<Listener>>;
  keys: readonly string[] | undefined;
  seen: readonly number[] | undefined;
};
type SourceState = { readonly groupByKey: Map<string, Group>; readonly groups: Set<Group> };

/** What everybody of them has seen or was told of. */
function lowestSeen(listeners: Iterable<Listener> = []): number {
  let lowest = Number.MAX_SAFE_INTEGER;
  for (const { seenVersion, notifiedVersion } of listeners)
    lowest = Math.min(lowest, Math.max(seenVersion, notifiedVersion));
  return lowest === Number.MAX_SAFE_INTEGER ? 0 : lowest;
}

function findOpenGroup({ groups }: SourceState): Group {
  for (const group of groups) if (group.topics.size < keysPerPoll) return group;
  const group: Group = { topics: new Map(), keys: undefined, seen: undefined };
  groups.add(group);
  return group;
}

function groupForKey(kind: SourceState, key: string): Group {
  const existing = kind.groupByKey.get(key);
  if (existing !== undefined) return existing;
  const group = findOpenGroup(kind);
  kind.groupByKey.set(key, group);
  group.topics.set(key, new Set());
  group.keys = undefined;
  return group;
}

function removeKey(kind: SourceState, key: string, group: Group): void {
  group.topics.delete(key);
  kind.groupByKey.delete(key);
  group.keys = undefined;
  if (group.topics.size === 0) kind.groups.delete(group);
}

function notify(group: Group, listeners: Iterable<Listener>, version: number): void {
  for (const listener of listeners) {
    if (version <= listener.seenVersion || version <= listener.notifiedVersion) continue;
    listener.notifiedVersion = version;
    group.seen = undefined;
    listener.wake(version);
  }
}

async function pollSource({ groups }: SourceState, readVersions: VersionSource): Promise<boolean> {
  for (const group of [...groups]) {
    if (group.topics.size === 0) continue;
    if (group.keys === undefined) group.seen = undefined;
    group.keys ??= [...group.topics.keys()];
    group.seen ??= group.keys.map((key) => lowestSeen(group.topics.get(key)));
    const versions = await readVersions(group.keys, group.seen);
    for (const [key, version] of versions)
      notify(group, [...(group.topics.get(key) ?? [])], version);
  }
  return false;
}

/**
 * No LISTEN: it needs a connection of its own through every pooler and is no part of engines that
 * speak PostgreSQL's protocol (ADR 0048). What a look costs grows with who waits, not with what happens.
 *
 * @example const live = createLive({ log }); const { end } = live.subscribe(topic, 0, wake);
 */
export function createChangeNotifier({
  log,
  metrics,
  pollMs = defaultPollMs,
}: ChangeNotifierDeps): ChangeNotifier {
  const kinds = new Map<string, SourceState>();
  /** Each source has its own, so that one that fails holds up no other. */
  const pollers: Poller[] = [];
  let listenerCount = 0;

  function findOrCreateSource(name: string): SourceState {
    const existing = kinds.get(name);
    if (existing !== undefined) return existing;
    const created: SourceState = { groupByKey: new Map(), groups: new Set() };
    kinds.set(name, created);
    return created;
  }

  metrics?.gauge({
    name: 'switchyard_change_subscribers',
    help: 'Subscriptions in this process that wait for a change',
    collect() {
      this.set(listenerCount);
    },
  });

  return {
    addSource(name, readVersions) {
      const kind = findOrCreateSource(name);
      const onError = (error: unknown) =>
        log.error({ err: error, kind: name }, 'what is new could not be looked at');
      pollers.push(
        createPoller({ pollMs: pollMs, poll: () => pollSource(kind, readVersions), onError }),
      );
    },
    publish({ kind, key }, version) {
      const group = kinds.get(kind)?.groupByKey.get(key);
      if (group !== undefined) notify(group, [...(group.topics.get(key) ?? [])], version);
    },
    subscribe({ kind: name, key }, seen, wake) {
      if (listenerCount >= maxListeners) return undefined;
      const kind = findOrCreateSource(name);
      const group = groupForKey(kind, key);
      const listeners = group.topics.get(key) ?? new Set<Listener>();
      const listener: Listener = { seenVersion: seen, notifiedVersion: seen, wake };
      listeners.add(listener);
      group.seen = undefined;
      listenerCount += 1;
      return {
        acknowledge(version) {
          if (version <= listener.seenVersion) return;
          listener.seenVersion = version;
          group.seen = undefined;
        },
        end() {
          if (!listeners.delete(listener)) return;
          listenerCount -= 1;
          group.seen = undefined;
          if (listeners.size === 0) removeKey(kind, key, group);
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
