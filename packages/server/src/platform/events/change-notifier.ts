// Notifies subscribers about new versions: at once in this process, by polling versions across processes.

import { createPoller, type Poller } from '../concurrency/poller.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';

/** With the query and the read that follow, a subscriber learns of a change in another process within a second. */
const defaultPollMs = 500;
/** Keys in one query to a source. */
const keysPerPoll = 1000;
/** More than the server accepts connections: each subscriber holds one. */
export const maxListeners = 20_000;

/** What a subscriber waits for: `kind` names the source, `key` the record. */
export type Topic = { readonly kind: string; readonly key: string };

/**
 * The current versions of the keys. A missing record is left out, and a record that has no newer
 * version than `seen` may be left out. If consecutive calls ask for the same, they pass the same
 * arrays, so results derived from them can be cached.
 */
export type VersionSource = (
  keys: readonly string[],
  seenVersions: readonly number[],
) => Promise<ReadonlyMap<string, number>>;

export type Subscription = {
  /** The subscriber has processed everything up to this version: it is not notified of it again. */
  acknowledge(version: number): void;
  end(): void;
};

export type ChangeNotifier = {
  /** Registers the source of a kind, before `start`. */
  addSource(kind: string, readVersions: VersionSource): void;
  /** After the commit: notifies the subscribers of this process that have seen an older version. */
  publish(topic: Topic, version: number): void;
  /**
   * Calls `wake` when the version may exceed `seen`; it may call too often, never too rarely.
   * `wake` runs inside other work, so it must only note that there is something to read.
   *
   * @returns undefined if there are too many subscribers
   */
  subscribe(
    topic: Topic,
    seenVersion: number,
    wake: (version: number) => void,
  ): Subscription | undefined;
  start(): void;
  stop(): Promise<void>;
};

export type ChangeNotifierDeps = { log: Log; metrics?: Metrics; pollMs?: number };

/** `notifiedVersion`: the last version passed to `wake`. The same version is not passed again. */
type Listener = { seenVersion: number; notifiedVersion: number; wake(version: number): void };

/**
 * The keys of one query. The arrays are rebuilt only if a subscriber starts, ends or is notified,
 * since most of thousands of subscribers wait without changes.
 */
type Group = {
  readonly topics: Map<string, Set<Listener>>;
  keys: readonly string[] | undefined;
  seenVersions: readonly number[] | undefined;
};
type SourceState = { readonly groupByKey: Map<string, Group>; readonly groups: Set<Group> };

/** The lowest version that every subscriber has seen or was notified of. */
function lowestSeen(listeners: Iterable<Listener> = []): number {
  let lowest = Number.MAX_SAFE_INTEGER;
  for (const { seenVersion, notifiedVersion } of listeners)
    lowest = Math.min(lowest, Math.max(seenVersion, notifiedVersion));
  return lowest === Number.MAX_SAFE_INTEGER ? 0 : lowest;
}

function findOpenGroup({ groups }: SourceState): Group {
  for (const group of groups) if (group.topics.size < keysPerPoll) return group;
  const group: Group = { topics: new Map(), keys: undefined, seenVersions: undefined };
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
    group.seenVersions = undefined;
    listener.wake(version);
  }
}

async function pollSource({ groups }: SourceState, readVersions: VersionSource): Promise<boolean> {
  for (const group of [...groups]) {
    if (group.topics.size === 0) continue;
    if (group.keys === undefined) group.seenVersions = undefined;
    group.keys ??= [...group.topics.keys()];
    group.seenVersions ??= group.keys.map((key) => lowestSeen(group.topics.get(key)));
    const versions = await readVersions(group.keys, group.seenVersions);
    for (const [key, version] of versions)
      notify(group, [...(group.topics.get(key) ?? [])], version);
  }
  return false;
}

/**
 * No LISTEN: it needs a separate connection through poolers, and other databases with PostgreSQL's
 * protocol lack it (ADR 0047). The cost grows with the number of subscribers, not with the number
 * of changes.
 *
 * @example const notifier = createChangeNotifier({ log }); const { end } = notifier.subscribe(topic, 0, wake);
 */
export function createChangeNotifier({
  log,
  metrics,
  pollMs = defaultPollMs,
}: ChangeNotifierDeps): ChangeNotifier {
  const kinds = new Map<string, SourceState>();
  /** Each source has its own poller, so that a failing source does not block the others. */
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
        log.error({ err: error, kind: name }, 'polling for changes failed');
      pollers.push(createPoller({ pollMs, poll: () => pollSource(kind, readVersions), onError }));
    },
    publish({ kind, key }, version) {
      const group = kinds.get(kind)?.groupByKey.get(key);
      if (group !== undefined) notify(group, [...(group.topics.get(key) ?? [])], version);
    },
    subscribe({ kind: name, key }, seenVersion, wake) {
      if (listenerCount >= maxListeners) return undefined;
      const kind = findOrCreateSource(name);
      const group = groupForKey(kind, key);
      const listeners = group.topics.get(key) ?? new Set<Listener>();
      const listener: Listener = { seenVersion, notifiedVersion: seenVersion, wake };
      listeners.add(listener);
      group.seenVersions = undefined;
      listenerCount += 1;
      return {
        acknowledge(version) {
          if (version <= listener.seenVersion) return;
          listener.seenVersion = version;
          group.seenVersions = undefined;
        },
        end() {
          if (!listeners.delete(listener)) return;
          listenerCount -= 1;
          group.seenVersions = undefined;
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
