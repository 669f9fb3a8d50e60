// Group commit: writes rows that arrive at the same time with one statement.
import { ProblemError } from '@switchyard/contract';
import { withJitter } from '../../identifiers/ids.ts';
import { pause } from '../../time/clock.ts';
import {
  endSpan,
  failSpan,
  type Span,
  startBatchSpan,
  startChildSpan,
} from '../../tracing/span.ts';
import { isRetryable } from '../database-errors.ts';

const defaultConcurrentStatements = 2;
/** So many waiting rows start a second statement while one runs. */
const defaultSecondStatementRows = 32;
/** Longer than a statement usually takes, so that a slow statement does not delay the other rows. */
const defaultMaxHoldMs = 20;
const defaultMaxRows = 256;
const defaultQueueLimit = 10_000;
const maxRetries = 4;
const retryPauseMs = 5;
const overloadedRetryAfterMs = 1000;

export type BatchTotals = { batches: number; rows: number };

/** What the group commits of this process have written or read, by their name. */
export const batchTotals = new Map<string, BatchTotals>();

export type GroupCommit<Row, Result> = {
  /**
   * Resolves with the result of the row once its statement is committed.
   *
   * @param span of the caller; undefined if it is not sampled
   */
  submit(row: Row, span?: Span): Promise<Result>;
  /** Resolves once no row waits and no statement runs. */
  drain(): Promise<void>;
  /** Rows that no statement has taken yet. */
  waiting(): number;
};

export type GroupCommitOptions<Row, Result> = {
  /** For error messages, logs and metrics. */
  name: string;
  /** Maximum number of statements that run at the same time. */
  concurrentStatements?: number;
  /** Fewer rows wait for the running statement, at most `maxHoldMs`. */
  secondStatementRows?: number;
  maxHoldMs?: number;
  maxRows?: number;
  /** Maximum number of waiting rows, or a function of the row. The next row is refused with `overloaded`. */
  queueLimit?: number | ((row: Row) => number);
  /** Rows with the same key conflict, such as rows with the same unique key. */
  key(row: Row): string;
  /**
   * For reads: one batch may contain several rows of a key. Otherwise rows of a key run one after
   * another in their order, because one statement cannot change a row twice and two statements
   * would wait for each other.
   */
  allowsSameKey?: boolean;
  /** Commits all rows together, sorted by key. Returns the results in the same order. */
  run(rows: Row[]): Promise<Result[]>;
};

type Entry<Row, Result> = {
  row: Row;
  key: string;
  /** Until the commit, also while the row waits. */
  span: Span | undefined;
  resolve(result: Result): void;
  reject(error: unknown): void;
};

/**
 * If no statement runs, the rows of one turn of the event loop are written together at its end.
 * Otherwise rows wait for the running statement: one statement costs PostgreSQL as much as eight
 * more rows in a statement, and two concurrent commits wait for each other's write to the log.
 * Batches are sorted by key, so that concurrent statements lock rows in the same order. A failed
 * batch is repeated row by row, so that one invalid row does not affect the others.
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
  const totals = batchTotals.get(name) ?? { batches: 0, rows: 0 };
  batchTotals.set(name, totals);
  let queue: Item[] = [];
  /** Rows that wait for an earlier row of the same key. */
  const waitingByKey = new Map<string, Item[]>();
  let waitingByKeyCount = 0;
  let running = 0;
  let isScheduled = false;
  /** Set while rows wait for the running statement although a second one could start. */
  let holdTimer: NodeJS.Timeout | undefined;
  let idleCallbacks: (() => void)[] = [];

  function submit(row: Row, span?: Span): Promise<Result> {
    const limit = typeof queueLimit === 'number' ? queueLimit : queueLimit(row);
    if (queue.length + waitingByKeyCount >= limit) {
      return Promise.reject(
        new ProblemError('overloaded', 'The platform is overloaded.', {
          retryAfterMs: overloadedRetryAfterMs,
          logDetail: `${name}: ${limit} rows wait`,
        }),
      );
    }
    return new Promise((resolve, reject) => {
      const commitSpan = span && startChildSpan(span, `commit ${name}`);
      const entry = { row, key: key(row), span: commitSpan, resolve, reject };
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
    totals.batches += 1;
    totals.rows += batch.length;
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
        endSpan(entry.span);
        entry.resolve(results[index] as Result);
      });
    } catch (error) {
      // A problem such as an unavailable database affects every row: repeating them one by one would not help.
      if (batch.length === 1 || error instanceof ProblemError) {
        for (const entry of batch) {
          failSpan(entry.span, 'database');
          entry.reject(error);
        }
        return;
      }
      for (const entry of batch) await resolveBatch([entry]);
    }
  }

  async function runRows(batch: Item[]): Promise<Result[]> {
    const rows = batch.map((entry) => entry.row);
    for (let tries = 1; ; tries += 1) {
      const span = startCommitSpan(name, batch);
      try {
        const results = await run(rows);
        if (results.length !== rows.length)
          throw new Error(`${name}: ${results.length} results for ${rows.length} rows`);
        endSpan(span);
        return results;
      } catch (error) {
        failSpan(span, 'database');
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

/** Undefined if no row of the batch is sampled. */
function startCommitSpan(
  name: string,
  batch: readonly { readonly span: Span | undefined }[],
): Span | undefined {
  let spans: Span[] | undefined;
  for (const { span } of batch) {
    if (span === undefined) continue;
    spans ??= [];
    spans.push(span);
  }
  if (spans === undefined) return undefined;
  return startBatchSpan(spans, `BATCH ${name}`, {
    'db.system.name': 'postgresql',
    'db.operation.name': 'BATCH',
    'db.operation.batch.size': batch.length,
  });
}

/** By code unit: the same order in every process, independent of the locale. */
function byKey(first: { key: string }, second: { key: string }): number {
  return first.key < second.key ? -1 : Number(first.key > second.key);
}
