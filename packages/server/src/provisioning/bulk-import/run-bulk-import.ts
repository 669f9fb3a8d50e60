// Runs an import: starts or continues it, processes chunk by chunk, and writes a summary.

import { setImmediate as turn } from 'node:timers/promises';
import { bulkLimits, ProblemError, throwProblem } from '@switchyard/contract';
import { dayMs } from '../../platform/index.ts';
import type { CallerScope } from '../resources/caller-scope.ts';
import {
  type BodyLine,
  type ByteStream,
  createHashedBody,
  type HashedBody,
  type ImportFormat,
  UnreadableBodyError,
} from './body/import-body.ts';
import { toImportError } from './body/parse-line.ts';
import { type BodyLines, type LineChunk, readChunk, skipTo } from './body/read-chunk.ts';
import { readCsv } from './body/read-csv.ts';
import { readJsonLines } from './body/read-json-lines.ts';
import { type BulkImportDeps, createChunkCommit } from './commit-chunk.ts';
import { createImportConcurrency } from './import-concurrency.ts';
import {
  createImportProgress,
  type ImportError,
  type ImportKey,
  type LeasedImport,
  LeaseLostError,
  leaseMs,
  noCounts,
  type Progress,
} from './import-progress.ts';
import {
  addCounts,
  formatSummary,
  sumCounts,
  toJsonLines,
  toStoredJsonLines,
} from './import-response.ts';

/** After this many lines, other work of the process can run. */
const linesPerYield = 100;

const readers: Readonly<Record<ImportFormat, (bytes: ByteStream) => AsyncGenerator<BodyLine>>> = {
  JsonLines: readJsonLines,
  Csv: readCsv,
};

/** @throws SourceEnd after the last line that an import accepts */
async function* readBodyLines(bytes: ByteStream, format: ImportFormat): AsyncGenerator<BodyLine> {
  let count = 0;
  for await (const line of readers[format](bytes)) {
    count += 1;
    if (count > bulkLimits.lines) {
      const detail = `An import has at most ${bulkLimits.lines} lines; send the rest, from line ${line.line} on, as another import.`;
      throw new UnreadableBodyError(new ProblemError('payload_too_large', detail));
    }
    yield line;
    if (count % linesPerYield === 0) await turn();
  }
}

const renewalsPerLease = 3;
/** The retention time of the results after the last line. */
export const resultRetentionMs = 30 * dayMs;
const deletionJobKind = 'bulk-sweep';

type ImportRequest = {
  readonly scope: CallerScope;
  readonly format: ImportFormat;
  readonly body: AsyncIterable<Buffer>;
  readonly bulkId: string;
};

type OpenBody = { readonly hashedBody: HashedBody; readonly bodyLines: BodyLines };

function openBody({ body, format }: ImportRequest): OpenBody {
  const hashedBody = createHashedBody(body);
  return { hashedBody, bodyLines: readBodyLines(hashedBody.bytes, format) };
}

function throwOtherBody(): never {
  return throwProblem(
    'client_id_reused',
    'Another body was sent with this bulkId; use a new bulkId.',
  );
}

/** Returns a fault that the summary can report, because the response has already begun. */
function toReportableProblem(error: unknown): ProblemError {
  if (error instanceof LeaseLostError) {
    return new ProblemError('request_in_progress', 'Another process continues the import.');
  }
  if (error instanceof ProblemError) return error;
  throw error;
}

export type BulkImports = ReturnType<typeof createBulkImports>;

export function createBulkImports(deps: BulkImportDeps) {
  const { ids, jobs, clock } = deps;
  const progress = createImportProgress(deps);
  const commit = createChunkCommit(deps);
  const concurrency = createImportConcurrency();

  jobs?.handle(deletionJobKind, async ({ organizationId, payload }) => {
    const { ownerId, bulkId } = payload as { ownerId: string; bulkId: string };
    const retryAt = await progress.deleteExpired(
      { organizationId, ownerId, bulkId },
      resultRetentionMs,
    );
    return retryAt === undefined ? undefined : { retryAt, countAttempt: false };
  });

  async function beginImport(name: ImportKey, { format }: ImportRequest): Promise<LeasedImport> {
    const { organizationId, ownerId, bulkId } = name;
    const lease = await progress.begin(name, {
      format,
      leaseId: ids.uuid(),
      onNew: async (trx) => {
        const payload = { ownerId, bulkId };
        const dueAt = clock.now() + resultRetentionMs;
        await jobs?.enqueue({ organizationId, kind: deletionJobKind, payload, dueAt }, trx);
      },
    });
    if (lease !== undefined) return lease;
    return throwProblem('request_in_progress', 'An import with this bulkId is running.', {
      retryAfterMs: leaseMs,
    });
  }

  /** The client must send the same bytes that were processed before. */
  async function skipProcessedLines(
    { bodyLines, hashedBody }: OpenBody,
    lease: LeasedImport,
  ): Promise<void> {
    if (!(await skipTo(bodyLines, lease.bytes))) throwOtherBody();
    if (lease.bytes > 0 && hashedBody.hashTo(lease.bytes) !== lease.hash) throwOtherBody();
    if (!lease.isCompleted) return;
    const { lines, problem } = await readChunk(bodyLines, lease.bytes);
    if (lines.length > 0 || problem !== undefined) throwOtherBody();
  }

  /** Keeps only one chunk in memory at a time. */
  async function* readStoredResults(name: ImportKey): AsyncGenerator<string> {
    for (let line = 0; ; ) {
      const [answers] = await progress.listResultsAfter(name, line, 1);
      if (answers === undefined) return;
      yield answers;
      const last = answers.trimEnd().split('\n').at(-1) ?? '';
      line = (JSON.parse(last) as { line: number }).line;
    }
  }

  async function commitLines(
    { scope }: ImportRequest,
    { name, leaseId, hashedBody }: { name: ImportKey; leaseId: string; hashedBody: HashedBody },
    { batch, at }: { batch: LineChunk; at: Progress },
  ): Promise<Progress & { answers: string }> {
    const { lines, end: bytes, isLast } = batch;
    const hash = lines.length === 0 ? at.hash : hashedBody.hashTo(bytes);
    let next = { ...at, bytes, hash, answers: '' };
    const written = () =>
      commit.write(scope, lines, async (trx, { results }) => {
        const counts = addCounts(at.counts, results);
        next = { lines: sumCounts(counts), bytes, hash, counts, answers: toJsonLines(results) };
        const stored = { ...next, answers: toStoredJsonLines(results) };
        await progress.storeChunk(trx, name, leaseId, { ...stored, results, isLast });
      });
    await concurrency.limitWorkingChunks(written);
    return next;
  }

  /** Processes all chunks; a fault after the first one is in the summary. */
  async function* continueImport(
    request: ImportRequest,
    { name, lease, body }: { name: ImportKey; lease: LeasedImport; body: OpenBody },
  ): AsyncGenerator<string, ProblemError | undefined> {
    const { bulkId } = name;
    const { hashedBody, bodyLines } = body;
    let progressSoFar: Progress = lease;
    let nextChunk = readChunk(bodyLines, progressSoFar.bytes);
    for (;;) {
      let problem: ProblemError | undefined;
      let answers = '';
      let isLast = false;
      try {
        const batch = await nextChunk;
        ({ problem, isLast } = batch);
        // Reads the next lines while the database writes these; a read fault is handled in its
        // turn.
        if (problem === undefined && !isLast) {
          nextChunk = readChunk(bodyLines, batch.end);
          nextChunk.catch(() => {});
        }
        if (batch.lines.length > 0 || isLast) {
          const written = await commitLines(
            request,
            { name, leaseId: lease.leaseId, hashedBody },
            { batch, at: progressSoFar },
          );
          ({ answers, ...progressSoFar } = written);
        }
      } catch (error) {
        problem = toReportableProblem(error);
      }
      if (problem !== undefined && sumCounts(progressSoFar.counts) === 0) throw problem;
      if (problem === undefined && !isLast) yield answers;
      else {
        yield answers +
          formatSummary({ bulkId, dryRun: false, counts: progressSoFar.counts, problem });
        return problem;
      }
    }
  }

  async function* runImport(request: ImportRequest): AsyncGenerator<string> {
    const { scope, bulkId } = request;
    const { organizationId, merchantId: ownerId = organizationId } = scope;
    const name: ImportKey = { organizationId, ownerId, bulkId };
    const lease = await beginImport(name, request);
    // If the renewal fails, the next commit detects the lost lease.
    const renewal = setInterval(
      () => void progress.renew(name, lease.leaseId).catch(() => {}),
      leaseMs / renewalsPerLease,
    );
    let error: ImportError | undefined;
    try {
      if (lease.format !== request.format) throwOtherBody();
      const body = openBody(request);
      await skipProcessedLines(body, lease);
      yield* readStoredResults(name);
      if (lease.isCompleted) yield formatSummary({ bulkId, dryRun: false, counts: lease.counts });
      else {
        const problem = yield* continueImport(request, { name, lease, body });
        if (problem !== undefined) error = toImportError(problem);
      }
    } finally {
      clearInterval(renewal);
      // Without the database the lease expires by itself, and the response contains the error.
      await progress.release(name, lease.leaseId, error).catch(() => {});
    }
  }

  async function* runDryRun(request: ImportRequest): AsyncGenerator<string> {
    const { bodyLines } = openBody(request);
    const applyChunk = commit.createDryRun(request.scope);
    let counts = noCounts;
    for (let end = 0; ; ) {
      const batch = await readChunk(bodyLines, end);
      ({ end } = batch);
      const { results } = await concurrency.limitWorkingChunks(() => applyChunk(batch.lines));
      counts = addCounts(counts, results);
      const { problem, isLast } = batch;
      if (problem !== undefined && sumCounts(counts) === 0) throw problem;
      if (problem === undefined && !isLast) yield toJsonLines(results);
      else {
        yield toJsonLines(results) + formatSummary({ dryRun: true, counts, problem });
        return;
      }
    }
  }

  return {
    /** Yields the response in parts; an error before the first part refuses the whole import. */
    run: (request: ImportRequest) =>
      concurrency.limitOpenImports(request.scope, runImport(request)),
    /** Reports the results of `run` without a write. */
    dryRun: (request: ImportRequest) =>
      concurrency.limitOpenImports(request.scope, runDryRun(request)),
    find: progress.find,
    list: progress.list,
    listResultsAfter: progress.listResultsAfter,
  };
}
