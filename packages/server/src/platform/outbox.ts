// Hands what was committed beside a change to whoever subscribed, at least once, then forgets it.
import { sql } from 'kysely';
import type { Database } from './database.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

export type OutboxRow = {
  organizationId: string;
  outboxId: string;
  /** Such as `transaction.captured`. */
  kind: string;
  subjectId: string;
  sequence: number;
};

/** Resolves once the rows are safe with the subscriber; a rejection brings them again. */
export type OutboxSubscriber = (rows: readonly OutboxRow[]) => Promise<void>;

export type Outbox = {
  /** Before `start`. */
  subscribe(subscriber: OutboxSubscriber): void;
  start(): void;
  stop(): Promise<void>;
};

type Deps = { database: Database; log: Log; metrics: Metrics };

const batchMax = 500;
const pollEveryMs = 200;

// Deleted and delivered in one transaction: a crash in between brings the rows again.
const take = sql<TakenRow>`DELETE FROM outbox o USING (
    SELECT organization_id, outbox_id FROM outbox
    ORDER BY organization_id, outbox_id LIMIT ${batchMax} FOR UPDATE SKIP LOCKED
  ) next
  WHERE o.organization_id = next.organization_id AND o.outbox_id = next.outbox_id
  RETURNING o.organization_id, o.outbox_id, o.kind, o.subject_id, o.sequence`;

type TakenRow = {
  organization_id: string;
  outbox_id: string;
  kind: string;
  subject_id: string;
  sequence: number;
};

const toRow = (row: TakenRow): OutboxRow => ({
  organizationId: row.organization_id,
  outboxId: row.outbox_id,
  kind: row.kind,
  subjectId: row.subject_id,
  sequence: row.sequence,
});

/** @example const outbox = createOutbox({ database, log, metrics }); outbox.start(); */
export function createOutbox({ database, log, metrics }: Deps): Outbox {
  const subscribers: OutboxSubscriber[] = [];
  const events = metrics.counter({
    name: 'switchyard_events_total',
    help: 'Events that left the outbox',
    labelNames: ['type'],
  });
  let timer: NodeJS.Timeout | undefined;
  let working: Promise<void> | undefined;
  let started = false;

  async function deliver(): Promise<number> {
    const rows = await database.transaction(async (transaction) => {
      const taken = (await take.execute(transaction)).rows.map(toRow);
      // Version 7 identifiers sort by time, so subscribers meet events in the order of their making.
      taken.sort((a, b) => (a.outboxId < b.outboxId ? -1 : 1));
      if (taken.length > 0) for (const subscriber of subscribers) await subscriber(taken);
      return taken;
    });
    for (const row of rows) events.inc({ type: row.kind });
    return rows.length;
  }

  async function work(): Promise<void> {
    while (started && (await deliver()) === batchMax);
  }

  function poke(): void {
    working ??= work()
      .catch((error: unknown) => log.warn({ err: error }, 'the outbox could not be delivered'))
      .finally(() => {
        working = undefined;
      });
  }

  return {
    subscribe: (subscriber) => void subscribers.push(subscriber),
    start() {
      started = true;
      timer = setInterval(poke, pollEveryMs);
    },
    async stop() {
      started = false;
      clearInterval(timer);
      await working;
    },
  };
}
