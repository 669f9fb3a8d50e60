// Tells other parts what was committed: rows written with the change, handed on, then deleted.
import { CompiledQuery, type Kysely } from 'kysely';
import { createPoller } from '../concurrency/poller.ts';
import type { Database } from '../database/database.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type Clock, systemClock } from '../time/clock.ts';

const defaultPollMs = 200;
/** What a batch costs beside its rows, one commit above all, is shared by many. */
const batchRows = 500;
/** By so much a batch is narrowed that a subscriber did not take, down to the row that it cannot take. */
const narrower = 25;
const nil = '00000000-0000-0000-0000-000000000000';

/**
 * In the order of the key, from where the last batch ended and round again: every tenant has its turn, and
 * the place of what was deleted already is not walked through again.
 */
const claimText = `DELETE FROM outbox AS o USING (
    SELECT organization_id, outbox_id FROM outbox
    WHERE (organization_id, outbox_id) > ($1::uuid, $2::uuid)
    ORDER BY organization_id, outbox_id LIMIT $3 FOR UPDATE SKIP LOCKED
  ) AS c
  WHERE o.organization_id = c.organization_id AND o.outbox_id = c.outbox_id
  RETURNING o.organization_id AS "organizationId", o.outbox_id AS "outboxId", o.kind,
    o.subject_id AS "subjectId", o.sequence, o.created_at AS "createdAt"`;

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
 * Runs inside the transaction that deletes the rows, so it only writes to the database, such as jobs that
 * call the world outside; a rejection brings the rows again. They come by tenant and time within a batch;
 * across batches and processes only `sequence` tells the order of one subject. What it resolves with is
 * called once the transaction has committed, and may be forgotten by a crash: only hints belong there.
 */
export type OutboxSubscriber = (
  rows: readonly OutboxRow[],
  trx: Kysely<unknown>,
) => Promise<AfterCommit | undefined>;

export type AfterCommit = () => void;

export type Outbox = {
  /** Before `start`. */
  subscribe(subscriber: OutboxSubscriber): void;
  start(): void;
  stop(): Promise<void>;
  /** Something was committed now: do not wait for the next look. */
  poke(): void;
};

export type OutboxDeps = {
  database: Database;
  log: Log;
  metrics: Metrics;
  clock?: Clock;
  pollMs?: number;
};

type Place = { organizationId: string; outboxId: string };

const beginning: Place = { organizationId: nil, outboxId: nil };

/** @example const outbox = createOutbox({ database, log, metrics }); outbox.start(); */
export function createOutbox(deps: OutboxDeps): Outbox {
  const { database, log, clock = systemClock } = deps;
  const subscribers: OutboxSubscriber[] = [];
  const measured = measurements(deps.metrics);
  let place = beginning;
  let size = batchRows;
  /** The end of a batch that was not taken: a row in it may never be, and must not hold up others. */
  let narrowUntil: Place | undefined;

  const poller = createPoller({
    pollMs: deps.pollMs ?? defaultPollMs,
    turn,
    onError: (error) => log.error({ err: error }, 'the outbox could not be handed on'),
  });

  async function turn(): Promise<boolean> {
    const asked = size;
    let rows: OutboxRow[] = [];
    let hints: (AfterCommit | undefined)[] = [];
    try {
      await database.transaction(async (trx) => {
        hints = [];
        const values = [place.organizationId, place.outboxId, asked];
        const claimed = await trx.executeQuery<OutboxRow>(CompiledQuery.raw(claimText, values));
        rows = claimed.rows.toSorted(byPlace);
        for (const subscriber of rows.length > 0 ? subscribers : []) {
          hints.push(await subscriber(rows, trx));
        }
      });
    } catch (error) {
      narrow(rows, asked);
      throw error;
    }
    for (const hint of hints) hint?.();
    measure(rows);
    const last = rows.at(-1);
    if (last !== undefined && rows.length === asked) {
      place = last;
      widen(last);
      return true;
    }
    // The end of a round: look at what came before its start, unless this was a whole one.
    const whole = place === beginning;
    place = beginning;
    narrowUntil = undefined;
    size = batchRows;
    return !whole;
  }

  /** Without rows nobody was asked: the database itself failed. */
  function narrow(rows: readonly OutboxRow[], asked: number): void {
    const last = rows.at(-1);
    if (last === undefined) return;
    narrowUntil = last;
    size = Math.max(1, Math.floor(asked / narrower));
    if (asked === 1) place = last;
  }

  /** Behind what was not taken, many go at once again: a failure that passes must not cost thousands of commits. */
  function widen(last: Place): void {
    if (narrowUntil === undefined || byPlace(last, narrowUntil) < 0) return;
    size = Math.min(batchRows, size * narrower);
    narrowUntil = size === batchRows ? undefined : last;
  }

  function measure(rows: readonly OutboxRow[]): void {
    for (const { kind } of rows) measured.handedOn.inc({ kind });
    const oldest = Math.min(clock.now(), ...rows.map(({ createdAt }) => createdAt.getTime()));
    measured.age.set((clock.now() - oldest) / 1000);
  }

  return {
    subscribe(subscriber) {
      subscribers.push(subscriber);
    },
    start: poller.start,
    stop: poller.stop,
    poke: poller.poke,
  };
}

function measurements(metrics: Metrics) {
  return {
    handedOn: metrics.counter({
      name: 'switchyard_outbox_rows_total',
      help: 'Rows of the outbox that were handed on',
      labelNames: ['kind'],
    }),
    age: metrics.gauge({
      name: 'switchyard_outbox_age_seconds',
      help: 'Age of the oldest row in the last batch, 0 where there was none',
    }),
  };
}

function byPlace(left: Place, right: Place): number {
  if (left.organizationId !== right.organizationId) {
    return left.organizationId < right.organizationId ? -1 : 1;
  }
  if (left.outboxId === right.outboxId) return 0;
  return left.outboxId < right.outboxId ? -1 : 1;
}
