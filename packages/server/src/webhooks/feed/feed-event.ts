// Defines the events of the feed and the planner of their deliveries.
import type { Queries } from '../../platform/index.ts';
/** A published event, which never changes. */
export type FeedEvent = {
  organizationId: string;
  /** The number of the event in its organisation, in reading order. */
  position: number;
  eventId: string;
  type: string;
  merchantId: string | null;
  subjectId: string;
  /** The number of the subject's change, which orders the events of one subject. */
  sequence: number;
  /** `{"type":…,"timestamp":…,"data":{…}}`: the bytes that the server sends to every receiver. */
  body: string;
  createdAt: Date;
  /** The span that caused the event; not stored in the feed. */
  traceparent?: string;
};

/** Plans the deliveries of new events in the transaction that publishes them. */
export type DeliveryPlanner = {
  plan(events: readonly FeedEvent[], trx: Queries): Promise<void>;
  /** A hint that the events are committed; it may be lost. */
  wakeDispatcher(): void;
};
