// Gathers rows that arrive together into one statement: several times the sales of one statement each.
import { Refusal } from '@switchyard/contract';
import { withJitter } from '../../identifiers/ids.ts';
import { pause } from '../../time/clock.ts';
import { isRetryable } from '../database-errors.ts';

const defaultConcurrentStatements = 2;
/** Rows that are worth a statement of their own beside one that runs. */
const defaultSecondStatementRows = 32;
/** Longer than a statement takes, so that one which is held up does not hold up the others. */
const defaultMaxHoldMs = 20;
const defaultMaxRows = 256;
const defaultQueueLimit = 10_000;
const maxRetries = 4;
const retryPauseMs = 5;
const overloadedRetryAfterMs = 1000;

export type GroupCommit<Row, Result> = {
  /** Resolves with the row's own result once its statement is committed. */
  submit(row: Row): Promise<Result>;
  /** Resolves once nothing waits and nothing is under way. */
  drain(): Promise<void>;
  /** Rows that are not under way yet. */
  waiting(): number;
};

export type GroupCommitOptions<Row, Result> = {
  /** For messages and measurements. */
  name: string;
  /** Statements in flight at once. */
  concurrentStatements?: number;
  /** Fewer rows wait for the statement that runs, for `holdMs` at most. */
  secondStatementRows?: number;
  maxHoldMs?: number;
  maxRows?: number;
  /** Rows that may wait; one more is refused as `overloaded`. */
  queueLimit?: number;
  /** What two batches could fight over, such as the unique key that the statement inserts. */
  key(row: Row): string;
  /**
   * For reads: rows of one key may share a batch. Otherwise they run one after the other, in the order in
   * which they came, since one statement cannot change a row twice and two would wait for each other.
   */
  allowsSameKey?: boolean;
  /** One statement for all rows, sorted by key; its results in the same order. */
  run(rows: Row[]): Promise<Result[]>;
};

type Entry<Row, Result> = {
  row: Row;
  key: string;
  resolve(result: Result): void;
  reject(error: unknown): void;
};

/**
 * What one turn of the event loop brings goes out at its end where nothing runs, one row alone if it was
 * alone, and else with all that come meanwhile. (A statement costs PostgreSQL as much as eight more rows in
 * one, and two commits at once wait for each other's write of the log.) Batches are sorted by key, so that two
 * in flight lock in one order; a failed batch is run again row by row, so that one bad row hurts nobody else.
 */
export function createGroupCommit<Row, Result>(
  options: GroupCommitOptions<Row, Result>,
): GroupCommit<Row, Result> {
  const {
    name,
    concurrentStatements = defaultConcurrentStatements,
    maxRows = defaultMaxRows,
    key,
    run,
  } = options;
  const { queueLimit = defaultQueueLimit, allowsSameKey = false } = options;
  const { secondStatementRows = defaultSecondStatementRows, maxHoldMs = defaultMaxHoldMs } =
    options;
  type Item = Entry<Row, Result>;
  let queue: Item[] = [];
  /** Rows held back behind one of the same key that waits or runs. */
  const waitingByKey = new Map<string, Item[]>();
  let waitingByKeyCount = 0;
  let running = 0;
  let isScheduled = false;
  /** Set while rows wait for the statement that runs though a lane is free. */
  let holdTimer: NodeJS.Timeout | undefined;
  let idleCallbacks: (() => void)[] = [];

  function submit(row: Row): Promise<Result> {
    if (queue.length + waitingByKeyCount >= queueLimit) {
      return Promise.reject(
        new Refusal('overloaded', 'The platform takes no more work at the moment.', {
          retryAfterMs: overloadedRetryAfterMs,
          logDetail: `${name}: ${queueLimit} rows wait`,
        }),
      );
    }
    return new Promise((resolve, reject) => {
      const entry = { row, key: key(row), resolve, reject };
      const followers = allowsSameKey ? undefined : waitingByKey.get(entry.key);
      if (followers !== undefined) {
        followers.push(entry);
        waitingByKeyCount += 1;
        return;
      }
      if (!allowsSameKey) waitingByKey.set(entry.key, []);
      queue.push(entry);
      schedule();
    });
  }

  function canStartBatch(): boolean {
    return running === 0
      ? queue.length > 0
      : running < concurrentStatements && queue.length >= secondStatementRows;
  }

  function schedule(): void {
    if (isScheduled || running >= concurrentStatements || queue.length === 0) return;
    if (!canStartBatch()) {
      holdTimer ??= setTimeout(endHold, maxHoldMs);
      return;
    }
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      while (canStartBatch()) void runBatch();
    });
  }

  function endHold(): void {
    holdTimer = undefined;
    if (running < concurrentStatements && queue.length > 0) void runBatch();
  }

  async function runBatch(): Promise<void> {
    clearTimeout(holdTimer);
    holdTimer = undefined;
    running += 1;
    const batch = queue.length <= maxRows ? queue : queue.slice(0, maxRows);
    queue = queue.length <= maxRows ? [] : queue.slice(maxRows);
    batch.sort(byKey);
    await resolveBatch(batch);
    if (!allowsSameKey) batch.forEach(admitNext);
    running -= 1;
    schedule();
    if (running > 0 || isScheduled) return;
    for (const resolve of idleCallbacks) resolve();
    idleCallbacks = [];
  }

  function admitNext({ key }: Item): void {
    const followers = waitingByKey.get(key) ?? [];
    const next = followers.shift();
    if (next === undefined) {
      waitingByKey.delete(key);
      return;
    }
    waitingByKeyCount -= 1;
    queue.push(next);
  }

  async function resolveBatch(batch: Item[]): Promise<void> {
    try {
      const results = await runRows(batch);
      batch.forEach((entry, index) => {
        entry.resolve(results[index] as Result);
      });
    } catch (error) {
      // A refusal speaks of all rows alike, such as a lost database: alone they would fare no better.
      if (batch.length === 1 || error instanceof Refusal) {
        for (const entry of batch) entry.reject(error);
        return;
      }
      for (const entry of batch) await resolveBatch([entry]);
    }
  }

  async function runRows(batch: Item[]): Promise<Result[]> {
    const rows = batch.map((entry) => entry.row);
    for (let tries = 1; ; tries += 1) {
      try {
        const results = await run(rows);
        if (results.length === rows.length) return results;
        throw new Error(`${name}: ${results.length} results for ${rows.length} rows`);
      } catch (error) {
        if (!isRetryable(error) || tries > maxRetries) throw error;
        await pause(withJitter(retryPauseMs * tries));
      }
    }
  }

  return {
    submit,
    drain() {
      if (running === 0 && !isScheduled) return Promise.resolve();
      return new Promise((resolve) => idleCallbacks.push(resolve));
    },
    waiting: () => queue.length + waitingByKeyCount,
  };
}

/** By code unit, the same in every process; not by locale. */
function byKey(left: { key: string }, right: { key: string }): number {
  return left.key < right.key ? -1 : Number(left.key > right.key);
}
