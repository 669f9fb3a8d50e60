// Creates the QR payments module with its routes, its polling and its store.
import { createHmac } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { EventStreams } from '../http/index.ts';
import {
  type ChangeNotifier,
  type Clock,
  type Database,
  type DueClock,
  deriveKey,
  encodeSimpleArray,
  type FailPoints,
  type Ids,
  type Log,
  type Metrics,
  type Numbering,
} from '../platform/index.ts';
import { registerProviderList } from './http/provider-payments-route.ts';
import { registerQrRoutes } from './http/qr-routes.ts';
import { createLooks } from './provider-queries/poll-due-payments.ts';
import type { Providers } from './providers/index.ts';
import { createQrStore, type QrStore, type VersionsAsked } from './repository/qr-store.ts';
import type { QrDeps, Tell } from './runtime/qr-dependencies.ts';
import { createAlarms } from './runtime/review-alarms.ts';
import { createRunning } from './runtime/running-payments.ts';

export { createProviders, type Providers } from './providers/index.ts';
export { qrEventSource as qrEvents } from './repository/published-events.ts';
export * from './repository/reporting-queries.ts';

export type Qr = {
  register(app: FastifyInstance, streams: EventStreams): void;
  /** Starts to poll due payments, including those that crashed processes left. */
  start(): void;
  /** The fill level of the write queues, from 0 to 1. */
  pressure(): number;
  /** Stops polling and waits for running work, so that its outcomes are durable. */
  stop(): Promise<void>;
};

export type QrRoomDeps = {
  database: Database;
  providers: Providers;
  live: ChangeNotifier;
  masterKey: Buffer;
  clock: Clock;
  dueClock: DueClock;
  ids: Ids;
  log: Log;
  metrics: Metrics;
  failPoints: FailPoints;
  tell: Tell;
  payWithinMs: number;
  numbering: Numbering;
};

/** Caches the encoded query parameters, because the server polls the same lists many times. */
function questions() {
  const namedBy = new WeakMap<
    readonly string[],
    Pick<VersionsAsked, 'organizations' | 'payments'>
  >();
  const seenBy = new WeakMap<readonly number[], string>();
  return (keys: readonly string[], seen: readonly number[]): VersionsAsked => {
    let named = namedBy.get(keys);
    if (named === undefined) {
      const parts = keys.map((key) => key.split('/'));
      named = {
        organizations: encodeSimpleArray(parts.map(([organizationId = '']) => organizationId)),
        payments: encodeSimpleArray(parts.map(([, transactionId = '']) => transactionId)),
      };
      namedBy.set(keys, named);
    }
    const versions = seenBy.get(seen) ?? encodeSimpleArray(seen);
    seenBy.set(seen, versions);
    return { ...named, versions };
  };
}

/** Finds the changes of other processes by comparing versions. */
function watch(live: ChangeNotifier, store: QrStore): void {
  const askedFor = questions();
  live.addSource('qr', async (keys, seen) => {
    const found = await store.versions(askedFor(keys, seen));
    return new Map(
      found.map((each) => [`${each.organizationId}/${each.transactionId}`, each.version]),
    );
  });
}

/** @example const qr = createQr({ database, providers, live, masterKey, clock, dueClock, ids, log, metrics, failPoints, tell, payWithinMs, numbering }); */
export function createQr({ database, providers, masterKey, metrics, ...rest }: QrRoomDeps): Qr {
  const { dueClock, ids, numbering } = rest;
  const store = createQrStore({ database, dueClock, ids, numbering });
  const markKey = deriveKey(masterKey, 'qr scanned identifiers');
  const deps: QrDeps = {
    ...rest,
    store,
    providers,
    running: createRunning(),
    alarms: createAlarms({ database, log: rest.log, metrics }),
    poke: () => looks.wake(),
    markOf: (text) => createHmac('sha256', markKey).update(text).digest('base64url'),
  };
  const looks = createLooks(deps);
  watch(rest.live, store);
  return {
    register(app, streams) {
      registerQrRoutes(app, deps, streams);
      registerProviderList(app, database);
    },
    start: looks.start,
    pressure: store.pressure,
    async stop() {
      await looks.stop();
      await deps.running.waitForIdle();
      providers.stop();
      await store.drain();
    },
  };
}
