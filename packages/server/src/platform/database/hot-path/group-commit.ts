// Gathers rows that arrive together into one statement: several times the sales of one statement each.
import { Refusal } from '@switchyard/contract';
import { jittered } from '../../identifiers/ids.ts';
import { pause } from '../../time/clock.ts';
import { isRetryable } from '../database-errors.ts';

const defaultLanes = 2;
/** Rows that are worth a statement of their own beside one that runs. */
const defaultLaneRows = 32;
/** Longer than a statement takes, so that one which is held up does not hold up the others. */
const defaultHoldMs = 20;
const defaultMaxRows = 256;
const defaultQueueLimit = 10_000;
const retriesMax = 4;
const retryPauseMs = 5;
const overloadedRetryMs = 1000;

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
  lanes?: number;
  /** Fewer rows wait for the statement that runs, for `holdMs` at most. */
  laneRows?: number;
  holdMs?: number;
  maxRows?: number;
  /** Rows that may wait; one more is refused as `overloaded`. */
  queueLimit?: number;
  /** What two batches could fight over, such as the unique key that the statement inserts. */
  key(row: Row): string;
  /**
   * For reads: rows of one key may share a batch. Otherwise they run one after the other, in the order in
   * which they came, since one statement cannot change a row twice and two would wait for each other.
   */
  sameKeyTogether?: boolean;
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
  const { name, lanes = defaultLanes, maxRows = defaultMaxRows, key, run } = options;
  const { queueLimit = defaultQueueLimit, sameKeyTogether = false } = options;
  const { laneRows = defaultLaneRows, holdMs = defaultHoldMs } = options;
  type Item = Entry<Row, Result>;
  let queue: Item[] = [];
  /** Rows held back behind one of the same key that waits or runs. */
  const behind = new Map<string, Item[]>();
  let behindCount = 0;
  let running = 0;
  let scheduled = false;
  /** Set while rows wait for the statement that runs though a lane is free. */
  let hold: NodeJS.Timeout | undefined;
  let idle: (() => void)[] = [];

  function submit(row: Row): Promise<Result> {
    if (queue.length + behindCount >= queueLimit) {
      return Promise.reject(
        new Refusal('overloaded', 'The platform takes no more work at the moment.', {
          retryAfterMs: overloadedRetryMs,
          logDetail: `${name}: ${queueLimit} rows wait`,
        }),
      );
    }
    return new Promise((resolve, reject) => {
      const entry = { row, key: key(row), resolve, reject };
      const line = sameKeyTogether ? undefined : behind.get(entry.key);
      if (line !== undefined) {
        line.push(entry);
        behindCount += 1;
        return;
      }
      if (!sameKeyTogether) behind.set(entry.key, []);
      queue.push(entry);
      schedule();
    });
  }

  function mayBegin(): boolean {
    return running === 0 ? queue.length > 0 : running < lanes && queue.length >= laneRows;
  }

  function schedule(): void {
    if (scheduled || running >= lanes || queue.length === 0) return;
    if (!mayBegin()) {
      hold ??= setTimeout(endHold, holdMs);
      return;
    }
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      while (mayBegin()) void work();
    });
  }

  function endHold(): void {
    hold = undefined;
    if (running < lanes && queue.length > 0) void work();
  }

  async function work(): Promise<void> {
    clearTimeout(hold);
    hold = undefined;
    running += 1;
    const batch = queue.length <= maxRows ? queue : queue.slice(0, maxRows);
    queue = queue.length <= maxRows ? [] : queue.slice(maxRows);
    batch.sort(byKey);
    await settle(batch);
    if (!sameKeyTogether) batch.forEach(letNextOneIn);
    running -= 1;
    schedule();
    if (running > 0 || scheduled) return;
    for (const resolve of idle) resolve();
    idle = [];
  }

  function letNextOneIn({ key: ended }: Item): void {
    const line = behind.get(ended) ?? [];
    const next = line.shift();
    if (next === undefined) {
      behind.delete(ended);
      return;
    }
    behindCount -= 1;
    queue.push(next);
  }

  async function settle(batch: Item[]): Promise<void> {
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
      for (const entry of batch) await settle([entry]);
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
        if (!isRetryable(error) || tries > retriesMax) throw error;
        await pause(jittered(retryPauseMs * tries));
      }
    }
  }

  return {
    submit,
    drain() {
      if (running === 0 && !scheduled) return Promise.resolve();
      return new Promise((resolve) => idle.push(resolve));
    },
    waiting: () => queue.length + behindCount,
  };
}

/** By code unit, the same in every process; not by locale. */
function byKey(left: { key: string }, right: { key: string }): number {
  return left.key < right.key ? -1 : Number(left.key > right.key);
}
