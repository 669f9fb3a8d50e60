// The interface of webhooks: publishes events in a feed and delivers them to endpoints.
import type { FastifyInstance } from 'fastify';
import type { AuditRecorder } from '../audit/index.ts';
import type { EventStreams } from '../http/index.ts';
import {
  type ChangeNotifier,
  type CleanupJob,
  type Clock,
  createFailPoints,
  type Database,
  type DueClock,
  type FailPoints,
  type Ids,
  type Jobs,
  type Log,
  type Metrics,
  type Outbox,
  type OutboxEventMapper,
  type OutgoingCalls,
  type Tracer,
  withJitter,
} from '../platform/index.ts';
import { attemptTimeoutMs } from './delivery/delivery-attempt.ts';
import { createDispatcher, type DispatcherTimes } from './delivery/delivery-dispatcher.ts';
import { createDeliveryRetention, deleteDeliveriesJobKind } from './delivery/delivery-retention.ts';
import { createDisableEndpoint, endpointEventMapper } from './delivery/disable-endpoint.ts';
import { createDeliveryOperations } from './delivery/manage-deliveries.ts';
import { createDeliveryPlanner } from './delivery/plan-deliveries.ts';
import { createReplays } from './delivery/replay-events.ts';
import { retryDelaysMs } from './delivery/retry-schedule.ts';
import type { EndpointKey } from './delivery/send-deliveries-sql.ts';
import { createEndpointChallenge } from './endpoints/endpoint-challenge.ts';
import { createEndpointKeys } from './endpoints/endpoint-keys.ts';
import { createEndpoints } from './endpoints/manage-endpoints.ts';
import type { DeliveryPlanner } from './feed/feed-event.ts';
import { createFeedRetention } from './feed/feed-retention.ts';
import { feedTopic, registerFeedRoutes } from './feed/feed-routes.ts';
import { createPostponeUnknownEvents } from './feed/postpone-unknown-events.ts';
import { createEventPublisher } from './feed/publish-events.ts';
import { createFeedReader } from './feed/read-feed.ts';
import { registerWebhookRoutes, type WebhookOperations } from './webhook-routes.ts';

export type { DeliveryPlanner, FeedEvent } from './feed/feed-event.ts';

/** Times that a test can shorten. */
export type DeliveryTimes = Partial<DispatcherTimes> & {
  readonly timeoutMs?: number;
  readonly retryDelaysMs?: readonly number[];
};

type DeliveriesDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly dueClock: DueClock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue' | 'wake'>;
  readonly audit: AuditRecorder;
  readonly calls: OutgoingCalls;
  readonly masterKey: Buffer;
  readonly retentionDays: number;
  readonly failPoints?: FailPoints;
  readonly tracer?: Tracer | undefined;
  readonly times?: DeliveryTimes;
  requireMerchant(organizationId: string, merchantId: string): Promise<void>;
};

type Deliveries = DeliveryPlanner & {
  register(app: FastifyInstance): void;
  /** The functions behind the routes, for seeds and tests. */
  readonly operations: WebhookOperations;
  /** The facts of `endpoint.` events. */
  readonly events: OutboxEventMapper;
  readonly cleanupJob: CleanupJob;
  /** Starts sending, in processes with the role `jobs`. */
  start(): void;
  stop(): Promise<void>;
};

/** @example const deliveries = createDeliveries(deps); deliveries.start(); */
export function createDeliveries(deps: DeliveriesDeps): Deliveries {
  const { database, clock, dueClock, ids, calls, jobs, times = {} } = deps;
  const keys = createEndpointKeys(deps);
  const plan = createDeliveryPlanner({ clock });
  const dispatcher = createDispatcher({
    ...deps,
    keys,
    times,
    jittered: withJitter,
    failPoints: deps.failPoints ?? createFailPoints(),
    timeoutMs: times.timeoutMs ?? attemptTimeoutMs,
    retryDelaysMs: times.retryDelaysMs ?? retryDelaysMs,
    disableEndpoint: createDisableEndpoint(deps),
  });
  let isSending = false;
  const wake = (endpointKeys: readonly EndpointKey[]) => {
    if (isSending) dispatcher.wake(endpointKeys);
  };
  const endpoints = createEndpoints({
    ...deps,
    keys,
    challenge: createEndpointChallenge({ calls, keys, clock, ids }),
    onChange(organizationId, endpointId) {
      if (isSending) dispatcher.reloadEndpoint({ organizationId, endpointId });
    },
    enqueueDeliveryDeletion: (organizationId, endpointId, trx) =>
      jobs.enqueue({ organizationId, kind: deleteDeliveriesJobKind, payload: { endpointId } }, trx),
  });
  const deliveries = createDeliveryOperations({
    database,
    clock,
    dueClock,
    ids,
    sendNow: dispatcher.sendNow,
  });
  const replays = createReplays({ database, clock, jobs, wake });
  const operations = { endpoints, deliveries, replays };
  /** Endpoints with planned deliveries that may not be committed yet. */
  const plannedEndpoints = new Map<string, EndpointKey>();
  return {
    async plan(events, trx) {
      for (const key of await plan(events, trx)) plannedEndpoints.set(key.endpointId, key);
    },
    wakeDispatcher() {
      wake([...plannedEndpoints.values()]);
      plannedEndpoints.clear();
    },
    operations,
    cleanupJob: createDeliveryRetention({ ...deps, days: deps.retentionDays }),
    events: endpointEventMapper,
    register: (app) => registerWebhookRoutes(app, operations),
    start() {
      isSending = true;
      dispatcher.start();
    },
    stop: dispatcher.stop,
  };
}

export type WebhooksDeps = {
  database: Database;
  outbox: Pick<Outbox, 'subscribe'>;
  changeNotifier: Pick<ChangeNotifier, 'addSource' | 'publish'>;
  jobs: Pick<Jobs, 'handle' | 'enqueue'>;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  /** One mapper for each prefix of outbox kinds. */
  eventMappers: readonly OutboxEventMapper[];
  retentionDays: number;
  deliveries: Deliveries;
};

export type Webhooks = {
  register(app: FastifyInstance, streams: EventStreams): void;
  readonly cleanupJobs: readonly CleanupJob[];
  /** Starts deliveries, in processes with the role `jobs`. */
  start(): void;
  stop(): Promise<void>;
};

/** @example const webhooks = createWebhooks({ database, outbox, changeNotifier, jobs, eventMappers, … }); */
export function createWebhooks({ outbox, changeNotifier, jobs, ...deps }: WebhooksDeps): Webhooks {
  const { deliveries } = deps;
  const reader = createFeedReader(deps.database);
  changeNotifier.addSource(feedTopic, reader.findEnds);
  const publish = createEventPublisher({
    ...deps,
    postponeUnknownEvents: createPostponeUnknownEvents({ ...deps, jobs }),
    notifyReaders(positions) {
      for (const [key, position] of positions)
        changeNotifier.publish({ kind: feedTopic, key }, position);
    },
  });
  outbox.subscribe(publish);
  return {
    register(app, streams) {
      registerFeedRoutes(app, reader, streams);
      deliveries.register(app);
    },
    cleanupJobs: [
      createFeedRetention({ ...deps, days: deps.retentionDays }),
      deliveries.cleanupJob,
    ],
    start: deliveries.start,
    stop: deliveries.stop,
  };
}
