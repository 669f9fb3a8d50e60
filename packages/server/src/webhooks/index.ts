// The door of events: what has happened is published in a feed, and sent to whoever asked for it.
import type { EventSource, Log, Metrics, Outbox } from '../platform/index.ts';
import { createPublisher, type DeliveryPlanner } from './feed/index.ts';

export type { DeliveryPlanner, FeedEvent } from './feed/index.ts';

export type WebhooksDeps = {
  outbox: Pick<Outbox, 'subscribe'>;
  log: Log;
  metrics: Metrics;
  /** One for each prefix of kinds of the outbox. */
  sources: readonly EventSource[];
  deliveries?: DeliveryPlanner;
};

/** @example const webhooks = createWebhooks({ outbox, log, metrics, sources: transactionEvents }); */
export function createWebhooks({ outbox, ...deps }: WebhooksDeps): void {
  outbox.subscribe(createPublisher({ ...deps, tell: () => {} }));
}
