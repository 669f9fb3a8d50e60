// The records of the feed: one event, and who is told of it within its commit.
import type { Kysely } from 'kysely';

/** One event as it was published: never changed afterwards. */
export type FeedEvent = {
  organizationId: string;
  /** Counts the events of the organisation in the order in which they can be read. */
  position: number;
  eventId: string;
  type: string;
  merchantId: string | null;
  subjectId: string;
  /** The number of the change of its subject: what tells the order of two events of one subject. */
  sequence: number;
  /** `{"type":…,"timestamp":…,"data":{…}}`: the bytes that every receiver gets. */
  body: string;
  createdAt: Date;
};

/** Plans the deliveries of new events in the transaction that publishes them. */
export type DeliveryPlanner = {
  plan(events: readonly FeedEvent[], trx: Kysely<unknown>): Promise<void>;
  /** They are committed: a hint that may be lost. */
  poke(): void;
};
