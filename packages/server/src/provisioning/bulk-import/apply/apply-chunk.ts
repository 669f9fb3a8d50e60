// Processes the lines of a chunk in order, and writes all changes with a few statements.
import { setImmediate as turn } from 'node:timers/promises';
import { type BulkResult, ProblemError } from '@switchyard/contract';
import type { AuditEntry } from '../../../audit/index.ts';
import type { Ids, Queries } from '../../../platform/index.ts';
import type { CallerScope } from '../../resources/caller-scope.ts';
import { buildFailedResult, type ParsedLine } from '../body/parse-line.ts';
import { chunkLinesMax } from '../body/read-chunk.ts';
import { type AppliedLine, createLineApplier } from './apply-line.ts';
import { createDependantCounter, DependantsNotCountedError } from './count-dependants.ts';
import { createEntityRowReader } from './read-rows.ts';
import { type RowCache, RowNotCachedError, UnwrittenRowsError } from './row-cache.ts';
import { type WriteRelatedData, writeChanges } from './write-rows.ts';

/** After this many lines, other work of the process can run. */
const linesPerYield = 50;
/** The maximum number of reads for one line; more indicates a bug. */
const retriesMax = 50;

export type ChunkDeps = {
  readonly queries: Queries;
  readonly scope: CallerScope;
  readonly rowCache: RowCache;
  readonly ids: Pick<Ids, 'uuid' | 'secret'>;
  readonly now: string;
  readonly isWriting: boolean;
  /** Changes related data elsewhere, after the rows are written. */
  readonly writeRelatedData?: WriteRelatedData;
};

export type AppliedChunk = { readonly results: BulkResult[]; readonly entries: AuditEntry[] };

export async function applyChunk(
  deps: ChunkDeps,
  lines: readonly ParsedLine[],
): Promise<AppliedChunk> {
  const { queries, scope, rowCache, ids, now, isWriting, writeRelatedData } = deps;
  const { organizationId } = scope;
  const dependants = createDependantCounter(rowCache, chunkLinesMax);
  const reader = createEntityRowReader({ queries, scope, rowCache, isLocking: isWriting });
  const applyLine = createLineApplier({ rowCache, dependants, scope, ids, now });
  const validLines = lines.flatMap((one) => ('problem' in one ? [] : [one]));

  async function write(): Promise<void> {
    if (isWriting) await writeChanges(queries, rowCache, { organizationId, now, writeRelatedData });
    rowCache.markWritten(isWriting);
    if (isWriting) dependants.clear();
  }

  /** Counts the dependants of everything that the chunk deletes, by kind. */
  async function countDependants(): Promise<void> {
    const deleting = Map.groupBy(
      validLines.filter(({ operation }) => operation === 'delete'),
      ({ importableType }) => importableType,
    );
    for (const { definition } of deleting.keys()) {
      const all = [...rowCache.entriesOf(definition.table).keys()];
      await dependants.readCounts(queries, organizationId, all, definition.dependants);
    }
  }

  async function readMissing(error: unknown): Promise<void> {
    if (error instanceof RowNotCachedError) await reader.read(error.request);
    else if (error instanceof DependantsNotCountedError) await countDependants();
    else if (error instanceof UnwrittenRowsError) await write();
    else throw error;
  }

  async function applyWithRetries(line: ParsedLine): Promise<AppliedLine> {
    if ('problem' in line) return { result: buildFailedResult(line, line.problem), entries: [] };
    for (let tries = 0; tries < retriesMax; tries += 1) {
      try {
        return await applyLine(line);
      } catch (error) {
        if (error instanceof ProblemError) {
          return { result: buildFailedResult(line, error), entries: [] };
        }
        await readMissing(error);
      }
    }
    throw new Error(`line ${line.line} needs too many reads`);
  }

  await reader.readFor(validLines);
  await countDependants();
  const results: BulkResult[] = [];
  const entries: AuditEntry[] = [];
  for (const [index, line] of lines.entries()) {
    const one = await applyWithRetries(line);
    results.push(one.result);
    entries.push(...one.entries);
    if (index % linesPerYield === linesPerYield - 1) await turn();
  }
  await write();
  return { results, entries };
}
