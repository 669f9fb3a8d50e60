// Runs an import: starts or continues it, processes chunk by chunk, and writes a summary.
import { ProblemError, throwProblem } from '@switchyard/contract';
import type { CallerScope } from '../resources/caller-scope.ts';
import { createTap, type Format, type Tap } from './body/import-body.ts';
import { errorOf } from './body/parse-line.ts';
import { readSource } from './body/read-body-lines.ts';
import { type Batch, nextBatch, passTo, type Source } from './body/read-chunk.ts';
import { type BulkDeps, createCommit } from './commit-chunk.ts';
import { createPlaces } from './import-concurrency.ts';
import {
  createProgress,
  type Held,
  type ImportError,
  type ImportName,
  LeaseLost,
  leaseMs,
  noCounts,
  type Progress,
} from './import-progress.ts';
import { countAll, keptText, summaryOf, textOf, totalOf } from './import-response.ts';

const renewalsPerLease = 3;
/** The retention time of the results after the last line. */
export const keptMs = 30 * 86_400_000;
const sweepKind = 'bulk-sweep';

type Asked = {
  readonly scope: CallerScope;
  readonly format: Format;
  readonly body: AsyncIterable<Buffer>;
  readonly bulkId: string;
};

type Place = { readonly tap: Tap; readonly source: Source };

function open({ body, format }: Asked): Place {
  const tap = createTap(body);
  return { tap, source: readSource(tap.bytes, format) };
}

function refuseOther(): never {
  return throwProblem(
    'client_id_reused',
    'Another body was sent under this name; choose a new one.',
  );
}

/** Returns a fault that the summary can report, because the response has already begun. */
function tellable(error: unknown): ProblemError {
  if (error instanceof LeaseLost) {
    return new ProblemError('request_in_progress', 'Another process goes on with the import.');
  }
  if (error instanceof ProblemError) return error;
  throw error;
}

export type Bulk = ReturnType<typeof createBulk>;

export function createBulk(deps: BulkDeps) {
  const { ids, jobs, clock } = deps;
  const progress = createProgress(deps);
  const commit = createCommit(deps);
  const places = createPlaces();

  jobs?.handle(sweepKind, async ({ organizationId, payload }) => {
    const { ownerId, bulkId } = payload as { ownerId: string; bulkId: string };
    const retryAt = await progress.forget({ organizationId, ownerId, bulkId }, keptMs);
    return retryAt === undefined ? undefined : { retryAt, countAttempt: false };
  });

  async function begin(name: ImportName, { format }: Asked): Promise<Held> {
    const { organizationId, ownerId, bulkId } = name;
    const held = await progress.begin(name, {
      format,
      leaseId: ids.uuid(),
      onNew: async (trx) => {
        const payload = { ownerId, bulkId };
        const dueAt = clock.now() + keptMs;
        await jobs?.enqueue({ organizationId, kind: sweepKind, payload, dueAt }, trx);
      },
    });
    if (held !== undefined) return held;
    return throwProblem('request_in_progress', 'An import of this name is running.', {
      retryAfterMs: leaseMs,
    });
  }

  /** The client must send the same bytes that were processed before. */
  async function passOver({ source, tap }: Place, held: Held): Promise<void> {
    if (!(await passTo(source, held.bytes))) refuseOther();
    if (held.bytes > 0 && tap.hashTo(held.bytes) !== held.hash) refuseOther();
    if (!held.isCompleted) return;
    const { lines, refusal } = await nextBatch(source, held.bytes);
    if (lines.length > 0 || refusal !== undefined) refuseOther();
  }

  /** Keeps only one chunk in memory at a time. */
  async function* told(name: ImportName): AsyncGenerator<string> {
    for (let line = 0; ; ) {
      const [answers] = await progress.answersAfter(name, line, 1);
      if (answers === undefined) return;
      yield answers;
      const last = answers.trimEnd().split('\n').at(-1) ?? '';
      line = (JSON.parse(last) as { line: number }).line;
    }
  }

  async function write(
    { scope }: Asked,
    { name, leaseId, tap }: { name: ImportName; leaseId: string; tap: Tap },
    { batch, at }: { batch: Batch; at: Progress },
  ): Promise<Progress & { answers: string }> {
    const { lines, end: bytes, isLast } = batch;
    const hash = lines.length === 0 ? at.hash : tap.hashTo(bytes);
    let next = { ...at, bytes, hash, answers: '' };
    const written = () =>
      commit.write(scope, lines, async (trx, { results }) => {
        const counts = countAll(at.counts, results);
        next = { lines: totalOf(counts), bytes, hash, counts, answers: textOf(results) };
        const kept = { ...next, answers: keptText(results) };
        await progress.advance(trx, name, leaseId, { ...kept, results, isLast });
      });
    await places.work(written);
    return next;
  }

  /** Processes all chunks; a fault after the first one is in the summary. */
  async function* goOn(
    asked: Asked,
    { name, held, place }: { name: ImportName; held: Held; place: Place },
  ): AsyncGenerator<string, ProblemError | undefined> {
    const { bulkId } = name;
    const { tap, source } = place;
    let at: Progress = held;
    let coming = nextBatch(source, at.bytes);
    for (;;) {
      let refusal: ProblemError | undefined;
      let answers = '';
      let isLast = false;
      try {
        const batch = await coming;
        ({ refusal, isLast } = batch);
        // Reads the next lines while the database writes these; a read fault is handled in its
        // turn.
        if (refusal === undefined && !isLast) {
          coming = nextBatch(source, batch.end);
          coming.catch(() => {});
        }
        if (batch.lines.length > 0 || isLast) {
          const written = await write(asked, { name, leaseId: held.leaseId, tap }, { batch, at });
          ({ answers, ...at } = written);
        }
      } catch (error) {
        refusal = tellable(error);
      }
      if (refusal !== undefined && totalOf(at.counts) === 0) throw refusal;
      if (refusal === undefined && !isLast) yield answers;
      else {
        yield answers + summaryOf({ bulkId, dryRun: false, counts: at.counts, refusal });
        return refusal;
      }
    }
  }

  async function* imported(asked: Asked): AsyncGenerator<string> {
    const { scope, bulkId } = asked;
    const { organizationId, merchantId: ownerId = organizationId } = scope;
    const name: ImportName = { organizationId, ownerId, bulkId };
    const held = await begin(name, asked);
    // If the renewal fails, the next commit detects the lost lease.
    const renewal = setInterval(
      () => void progress.renew(name, held.leaseId).catch(() => {}),
      leaseMs / renewalsPerLease,
    );
    let error: ImportError | undefined;
    try {
      if (held.format !== asked.format) refuseOther();
      const place = open(asked);
      await passOver(place, held);
      yield* told(name);
      if (held.isCompleted) yield summaryOf({ bulkId, dryRun: false, counts: held.counts });
      else {
        const refusal = yield* goOn(asked, { name, held, place });
        if (refusal !== undefined) error = errorOf(refusal);
      }
    } finally {
      clearInterval(renewal);
      // Without the database the lease expires by itself, and the response contains the error.
      await progress.release(name, held.leaseId, error).catch(() => {});
    }
  }

  async function* tried(asked: Asked): AsyncGenerator<string> {
    const { source } = open(asked);
    const judge = commit.createTrial(asked.scope);
    let counts = noCounts;
    for (let end = 0; ; ) {
      const batch = await nextBatch(source, end);
      ({ end } = batch);
      const { results } = await places.work(() => judge(batch.lines));
      counts = countAll(counts, results);
      const { refusal, isLast } = batch;
      if (refusal !== undefined && totalOf(counts) === 0) throw refusal;
      if (refusal === undefined && !isLast) yield textOf(results);
      else {
        yield textOf(results) + summaryOf({ dryRun: true, counts, refusal });
        return;
      }
    }
  }

  return {
    /** Yields the response in parts; an error before the first part refuses the whole import. */
    run: (asked: Asked) => places.open(asked.scope, imported(asked)),
    /** Reports the results of `run` without a write. */
    try: (asked: Asked) => places.open(asked.scope, tried(asked)),
    find: progress.find,
    list: progress.list,
    answersAfter: progress.answersAfter,
  };
}
