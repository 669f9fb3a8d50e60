// Creates the webhooks module: publishes events in a feed and delivers them to endpoints.
import type { FastifyInstance } from 'fastify';
import type { EventStreams } from '../http/index.ts';
import type {
  ChangeNotifier,
  CleanupJob,
  Clock,
  Database,
  Jobs,
  Log,
  Metrics,
  Outbox,
  OutboxEventMapper,
} from '../platform/index.ts';
import type { Deliveries } from './create-deliveries.ts';
import {
  createEventPublisher,
  createFeedReader,
  createFeedRetention,
  createPostponeUnknownEvents,
  feedTopic,
  registerFeedRoutes,
} from './feed/index.ts';

export { createDeliveries, type DeliveryTimes } from './create-deliveries.ts';
export type { DeliveryPlanner, FeedEvent } from './feed/index.ts';

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
