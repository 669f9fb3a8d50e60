// Transactional outbox: rows are written together with a change, passed to subscribers, then deleted.
import { createPoller } from '../concurrency/poller.ts';
import { forEachShard } from '../database/citus/shards.ts';
import type { Database, Queries } from '../database/database.ts';
import { nilUuid } from '../identifiers/uuid.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type Clock, systemClock } from '../time/clock.ts';

const defaultPollMs = 200;
/** A large batch spreads the cost of its commit over many rows. */
const batchRows = 500;
/** After a failure the batch becomes smaller by this factor, down to the row that fails. */
const narrowingFactor = 25;

/**
 * In key order, from the end of the last batch and then from the beginning: every bucket gets its
 * turn, and deleted index entries are not scanned again.
 */
const claimText = `DELETE FROM outbox AS o USING (
    SELECT bucket, outbox_id FROM outbox
    WHERE (bucket, outbox_id) > ($1::smallint, $2::uuid) /* one shard: outbox */
    ORDER BY bucket, outbox_id LIMIT $3 FOR UPDATE SKIP LOCKED
  ) AS c
  WHERE o.bucket = c.bucket /* one shard: o */ AND o.outbox_id = c.outbox_id
  RETURNING o.bucket, o.organization_id AS "organizationId", o.outbox_id AS "outboxId", o.kind,
    o.subject_id AS "subjectId", o.sequence, o.created_at AS "createdAt"`;

/** On Citus, where each claim is sent to one shard. */
const findWaiting = { name: 'outbox-waiting', text: 'SELECT bucket FROM outbox LIMIT 1' };

const oldestText = 'SELECT min(created_at) AS oldest FROM outbox';

export type OutboxRow = {
  organizationId: string;
  outboxId: string;
  /** Such as `transaction.captured`. */
  kind: string;
  subjectId: string;
  sequence: number;
  createdAt: Date;
};

/**
 * Runs inside the transaction that deletes the rows, so it only writes to the database, such as
 * jobs that call other servers. If it rejects, the rows come again. Within a batch rows are sorted
 * by tenant and time; across batches and processes only `sequence` gives the order of one subject.
 * The function it resolves with is called after the commit and may be lost in a crash: use it for
 * hints only.
 */
export type OutboxSubscriber = (
  rows: readonly OutboxRow[],
  trx: Queries,
) => Promise<AfterCommitHint | undefined>;

export type AfterCommitHint = () => void;

export type Outbox = {
  /** Before `start`. */
  subscribe(subscriber: OutboxSubscriber): void;
  start(): void;
  stop(): Promise<void>;
  /** A transaction was committed: process the outbox without waiting for the next poll. */
  wake(): void;
};

export type OutboxDeps = {
  database: Database;
  log: Log;
  metrics: Metrics;
  clock?: Clock;
  pollMs?: number;
};

/** In the order of the key: the bucket of the subject, then the identifier. */
type OutboxPosition = { bucket: number; outboxId: string };
type ClaimedRow = OutboxRow & OutboxPosition;

const startPosition: OutboxPosition = { bucket: 0, outboxId: nilUuid };

/** @example const outbox = createOutbox({ database, log, metrics }); outbox.start(); */
export function createOutbox(deps: OutboxDeps): Outbox {
  const { database, log } = deps;
  const subscribers: OutboxSubscriber[] = [];
  const publishedRows = registerMetrics(deps);
  /** By shard; one on PostgreSQL. */
  const scans = new Map<readonly number[] | undefined, () => Promise<boolean>>();

  const poller = createPoller({
    pollMs: deps.pollMs ?? defaultPollMs,
    poll,
    onError: (error) => log.error({ err: error }, 'processing the outbox failed'),
  });

  async function poll(): Promise<boolean> {
    let hasMore = false;
    await forEachShard(database, [findWaiting, []], async (buckets) => {
      const processBatch = scans.get(buckets) ?? createScan(buckets);
      scans.set(buckets, processBatch);
      if (await processBatch()) hasMore = true;
    });
    return hasMore;
  }

  function createScan(buckets: readonly number[] | undefined): () => Promise<boolean> {
    let position = startPosition;
    let batchSize = batchRows;
    /** The end of a failed batch. Rows in it may always fail and must not block others. */
    let narrowUntil: OutboxPosition | undefined;

    async function processBatch(): Promise<boolean> {
      const limit = batchSize;
      let rows: ClaimedRow[] = [];
      let hints: (AfterCommitHint | undefined)[] = [];
      try {
        await database.transaction(async (trx) => {
          hints = [];
          const values = [position.bucket, position.outboxId, limit];
          const claimed = await trx.query<ClaimedRow>(claimText, values, buckets);
          rows = claimed.toSorted(comparePositions);
          // The feed of an organisation gets its positions in this order.
          const rowsByTenant = rows.toSorted(compareTenants);
          for (const subscriber of rows.length > 0 ? subscribers : []) {
            hints.push(await subscriber(rowsByTenant, trx));
          }
        });
      } catch (error) {
        narrow(rows, limit);
        throw error;
      }
      for (const hint of hints) hint?.();
      for (const { kind } of rows) publishedRows.inc({ kind });
      const last = rows.at(-1);
      if (last !== undefined && rows.length === limit) {
        position = last;
        widen(last);
        return true;
      }
      // End of a round: read what comes before its start, unless the round was complete.
      const isWholeRound = position === startPosition;
      position = startPosition;
      narrowUntil = undefined;
      batchSize = batchRows;
      return !isWholeRound;
    }

    /** Without rows no subscriber ran: the database itself failed. */
    function narrow(rows: readonly OutboxPosition[], limit: number): void {
      const last = rows.at(-1);
      if (last === undefined) return;
      narrowUntil = last;
      batchSize = Math.max(1, Math.floor(limit / narrowingFactor));
      if (limit === 1) position = last;
    }

    /** After the failed rows the batch grows again at once: a temporary failure must not cost thousands of commits. */
    function widen(last: OutboxPosition): void {
      if (narrowUntil === undefined || comparePositions(last, narrowUntil) < 0) return;
      batchSize = Math.min(batchRows, batchSize * narrowingFactor);
      narrowUntil = batchSize === batchRows ? undefined : last;
    }

    return processBatch;
  }

  return {
    subscribe(subscriber) {
      subscribers.push(subscriber);
    },
    start: poller.start,
    stop: poller.stop,
    wake: poller.wake,
  };
}

function registerMetrics({ database, metrics, clock = systemClock }: OutboxDeps) {
  // Read from the database: a row that always fails, or without a process that publishes, is in no batch.
  metrics.gauge({
    name: 'switchyard_outbox_age_seconds',
    help: 'Age of the oldest row that is not published; 0 if there is none',
    async collect() {
      // If the database is unavailable, the last value stays.
      const rows = await database.query<{ oldest: Date | null }>(oldestText).catch(() => undefined);
      if (rows === undefined) return;
      const now = clock.now();
      this.set(Math.max(0, now - (rows[0]?.oldest?.getTime() ?? now)) / 1000);
    },
  });
  return metrics.counter({
    name: 'switchyard_outbox_rows_published_total',
    help: 'Outbox rows that were passed to the subscribers',
    labelNames: ['kind'],
  });
}

function compareTexts(first: string, second: string): number {
  if (first === second) return 0;
  return first < second ? -1 : 1;
}

const comparePositions = (first: OutboxPosition, second: OutboxPosition): number =>
  first.bucket - second.bucket || compareTexts(first.outboxId, second.outboxId);

const compareTenants = (first: OutboxRow, second: OutboxRow): number =>
  compareTexts(first.organizationId, second.organizationId) ||
  compareTexts(first.outboxId, second.outboxId);

export type OutboxEventData = {
  /** The merchant of the event; null if it belongs to the organisation itself. */
  merchantId: string | null;
  /**
   * The event data that receivers get, identifiers first, never card data. The feed adds
   * organizationId and sequence.
   */
  data: Record<string, unknown>;
  /** Default: the kind of the row. */
  type?: string;
  /** Default: the subject of the row. */
  subjectId?: string;
  /** The sampled span that caused the event; its deliveries continue the trace. */
  traceparent?: string;
};

/** Maps the outbox rows of one module: called once for each batch, in its transaction. */
export type OutboxEventMapper = {
  /** With its dot: `qr.` selects rows of the kind `qr.created`. */
  readonly prefix: string;
  /** Keyed by `outboxId`. A row that is left out is not published. */
  read(rows: readonly OutboxRow[], trx: Queries): Promise<ReadonlyMap<string, OutboxEventData>>;
};
