// Publishes outbox rows: reads their facts, numbers the events and stores each body once.
import { defined } from '@switchyard/contract';
import {
  isoTime,
  type Log,
  type Metrics,
  type OutboxEventData,
  type OutboxEventMapper,
  type OutboxRow,
  type OutboxSubscriber,
  type Queries,
} from '../../platform/index.ts';
import type { DeliveryPlanner, FeedEvent } from './feed-event.ts';
import { findEventMapper, type PostponeUnknownEvents } from './postpone-unknown-events.ts';
import { insertEvents, reservePositions } from './publish-events-sql.ts';

/** The size limit that Standard Webhooks recommends to senders; receivers may refuse more. */
export const bodyBytesMax = 20_000;

/** The identifiers come first. If the data is too large for one event, only they remain. */
function renderEventBody(
  row: OutboxRow,
  { merchantId, data, type, ...facts }: OutboxEventData,
): string {
  const ids = {
    organizationId: row.organizationId,
    ...(merchantId === null ? {} : { merchantId }),
  };
  const head = { type: type ?? row.kind, timestamp: isoTime(row.createdAt.getTime()) };
  const body = JSON.stringify({
    ...head,
    data: { ...ids, ...data, sequence: row.sequence },
  });
  // A UTF-16 code unit takes at most three bytes in UTF-8.
  if (body.length * 3 < bodyBytesMax || Buffer.byteLength(body) < bodyBytesMax) return body;
  const subjectId = facts.subjectId ?? row.subjectId;
  const abridgedData = { ...ids, subjectId, sequence: row.sequence, abridged: true };
  return JSON.stringify({ ...head, data: abridgedData });
}

export type PublisherDeps = {
  eventMappers: readonly OutboxEventMapper[];
  log: Log;
  metrics: Metrics;
  deliveries?: DeliveryPlanner;
  /** Stores rows without a source. */
  postponeUnknownEvents: PostponeUnknownEvents;
  /** Notifies waiting readers of this process of the new feed positions, after the commit. */
  notifyReaders(positions: ReadonlyMap<string, number>): void;
};

/** @example outbox.subscribe(createEventPublisher({ eventMappers, log, metrics, notifyReaders })); */
export function createEventPublisher(deps: PublisherDeps): OutboxSubscriber {
  const { eventMappers, log, deliveries, postponeUnknownEvents, notifyReaders } = deps;
  const publishMetrics = createMetrics(deps.metrics);

  /**
   * Reads the facts with one query per source. A row without a source may come from a newer
   * version, so the server keeps it.
   */
  async function readFacts(rows: readonly OutboxRow[], trx: Queries) {
    const all = new Map<string, OutboxEventData>();
    for (const [source, mappedRows] of groupByMapper(eventMappers, rows)) {
      if (source === undefined) {
        const kinds = [...new Set(mappedRows.map(({ kind }) => kind))];
        log.error(
          { kinds },
          'no module maps these outbox kinds to events; they are stored as a job',
        );
        await postponeUnknownEvents(mappedRows, trx);
        continue;
      }
      for (const [id, facts] of await source.read(mappedRows, trx)) all.set(id, facts);
    }
    return all;
  }

  return async (rows, trx) => {
    const facts = await readFacts(rows, trx);
    const published = rows.filter(({ outboxId }) => facts.has(outboxId));
    if (published.length === 0) return undefined;
    const counts = new Map<string, number>();
    for (const { organizationId } of published) {
      counts.set(organizationId, (counts.get(organizationId) ?? 0) + 1);
    }
    const positions = await reservePositions(trx, counts);
    const events = published.map((row) => {
      const position = (positions.get(row.organizationId) ?? 0) + 1;
      positions.set(row.organizationId, position);
      return toFeedEvent(row, facts.get(row.outboxId), position);
    });
    await insertEvents(trx, events);
    await deliveries?.plan(events, trx);
    return () => {
      publishMetrics.published.inc(events.length);
      notifyReaders(positions);
      deliveries?.wakeDispatcher();
    };
  };
}

function toFeedEvent(
  row: OutboxRow,
  facts: OutboxEventData | undefined,
  position: number,
): FeedEvent {
  const { merchantId, type, subjectId, traceparent } = facts ?? { merchantId: null };
  return {
    organizationId: row.organizationId,
    position,
    eventId: row.outboxId,
    type: type ?? row.kind,
    merchantId,
    subjectId: subjectId ?? row.subjectId,
    sequence: row.sequence,
    body: renderEventBody(row, facts ?? { merchantId: null, data: {} }),
    createdAt: row.createdAt,
    ...defined({ traceparent }),
  };
}

function groupByMapper(eventMappers: readonly OutboxEventMapper[], rows: readonly OutboxRow[]) {
  const groups = new Map<OutboxEventMapper | undefined, OutboxRow[]>();
  for (const row of rows) {
    const source = findEventMapper(eventMappers, row.kind);
    const group = groups.get(source);
    if (group === undefined) groups.set(source, [row]);
    else group.push(row);
  }
  return groups;
}

function createMetrics(metrics: Metrics) {
  return {
    published: metrics.counter({
      name: 'switchyard_events_published_total',
      help: 'Events that were added to the feeds',
    }),
  };
}
