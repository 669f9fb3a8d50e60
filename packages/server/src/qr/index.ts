// Creates the QR payments module with its routes, its polling and its store.
import { createHmac } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { EventStreams } from '../http/index.ts';
import {
  bucketOf,
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
import { registerProviderPaymentsRoute } from './http/list-provider-payments-route.ts';
import { registerQrRoutes } from './http/qr-routes.ts';
import { createPaymentPoller } from './provider-queries/poll-due-payments.ts';
import type { Providers } from './providers/index.ts';
import { createQrStore, type QrStore, type VersionQuery } from './repository/qr-store.ts';
import type { QrDeps, RecordAudit } from './runtime/qr-dependencies.ts';
import { createReviewAlarms } from './runtime/review-alarms.ts';
import { createRunningPayments } from './runtime/running-payments.ts';

export { createProviders, type Providers } from './providers/index.ts';
export { qrEvents } from './repository/qr-event-mapper.ts';
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

export type QrModuleDeps = {
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
  recordAudit: RecordAudit;
  payWithinMs: number;
  numbering: Numbering;
};

/** Caches the encoded query parameters, because the server polls the same lists many times. */
function createVersionQueries() {
  const keysByArray = new WeakMap<readonly string[], Pick<VersionQuery, 'buckets' | 'payments'>>();
  const versionsByArray = new WeakMap<readonly number[], string>();
  return (keys: readonly string[], knownVersions: readonly number[]): VersionQuery => {
    let encodedKeys = keysByArray.get(keys);
    if (encodedKeys === undefined) {
      const transactionIds = keys.map((key) => key.split('/')[1] ?? '');
      encodedKeys = {
        buckets: encodeSimpleArray(transactionIds.map(bucketOf)),
        payments: encodeSimpleArray(transactionIds),
      };
      keysByArray.set(keys, encodedKeys);
    }
    const versions = versionsByArray.get(knownVersions) ?? encodeSimpleArray(knownVersions);
    versionsByArray.set(knownVersions, versions);
    return { ...encodedKeys, newerVersions: versions };
  };
}

/** Finds the changes of other processes by comparing versions. */
function addVersionSource(live: ChangeNotifier, store: QrStore): void {
  const versionQuery = createVersionQueries();
  live.addSource('qr', async (keys, knownVersions) => {
    const newer = await store.newerVersions(versionQuery(keys, knownVersions));
    return new Map(
      newer.map((each) => [`${each.organizationId}/${each.transactionId}`, each.version]),
    );
  });
}

/** @example const qr = createQr({ database, providers, live, masterKey, clock, dueClock, ids, log, metrics, failPoints, recordAudit, payWithinMs, numbering }); */
export function createQr({ database, providers, masterKey, metrics, ...rest }: QrModuleDeps): Qr {
  const { dueClock, ids, numbering } = rest;
  const store = createQrStore({ database, dueClock, ids, numbering });
  const digestKey = deriveKey(masterKey, 'qr scanned identifiers');
  const deps: QrDeps = {
    ...rest,
    store,
    providers,
    runningPayments: createRunningPayments(),
    alarms: createReviewAlarms({ database, log: rest.log, metrics }),
    wakePoller: () => poller.wake(),
    digestOf: (text) => createHmac('sha256', digestKey).update(text).digest('base64url'),
  };
  const poller = createPaymentPoller(deps);
  addVersionSource(rest.live, store);
  return {
    register(app, streams) {
      registerQrRoutes(app, deps, streams);
      registerProviderPaymentsRoute(app, database);
    },
    start: poller.start,
    pressure: store.pressure,
    async stop() {
      await poller.stop();
      await deps.runningPayments.waitForIdle();
      providers.stop();
      await store.drain();
    },
  };
}
