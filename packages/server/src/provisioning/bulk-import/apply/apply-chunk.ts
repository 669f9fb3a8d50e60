// Processes the lines of a chunk in order, and writes all changes with a few statements.
import { setImmediate as turn } from 'node:timers/promises';
import { type BulkResult, ProblemError } from '@switchyard/contract';
import type { AuditEntry } from '../../../audit/index.ts';
import type { Ids } from '../../../platform/index.ts';
import type { CallerScope } from '../../resources/caller-scope.ts';
import type { SqlRunner } from '../../resources/resource-sql.ts';
import { failedAnswer, type ReadLine } from '../body/parse-line.ts';
import { chunkLines } from '../body/read-chunk.ts';
import { createJudge, type Judged } from './apply-line.ts';
import { createDependants, NotCounted } from './count-dependants.ts';
import { createReader } from './read-rows.ts';
import { NotRead, type Workspace, WriteFirst } from './row-cache.ts';
import { type Beside, writeChanges } from './write-rows.ts';

/** After this many lines, other work of the process can run. */
const linesPerTurn = 50;
/** The maximum number of reads for one line; more indicates a bug. */
const retriesMax = 50;

export type ChunkDeps = {
  readonly run: SqlRunner;
  readonly scope: CallerScope;
  readonly workspace: Workspace;
  readonly ids: Pick<Ids, 'uuid' | 'secret'>;
  readonly now: string;
  readonly isWriting: boolean;
  /** Changes related data elsewhere, after the rows are written. */
  readonly beside?: Beside;
};

export type JudgedChunk = { readonly results: BulkResult[]; readonly entries: AuditEntry[] };

export async function judgeChunk(
  deps: ChunkDeps,
  lines: readonly ReadLine[],
): Promise<JudgedChunk> {
  const { run, scope, workspace, ids, now, isWriting, beside } = deps;
  const { organizationId } = scope;
  const dependants = createDependants(workspace, chunkLines);
  const reader = createReader({ run, scope, workspace, isLocking: isWriting });
  const judge = createJudge({ workspace, dependants, scope, ids, now });
  const good = lines.flatMap((one) => ('refusal' in one ? [] : [one]));

  async function write(): Promise<void> {
    if (isWriting) await writeChanges(run, workspace, { organizationId, now, beside });
    workspace.settle(isWriting);
    if (isWriting) dependants.forget();
  }

  /** Counts the dependants of everything that the chunk deletes, by kind. */
  async function count(): Promise<void> {
    const deleting = Map.groupBy(
      good.filter(({ operation }) => operation === 'delete'),
      ({ bulkKind }) => bulkKind,
    );
    for (const { kind } of deleting.keys()) {
      const all = [...workspace.entriesOf(kind.table).keys()];
      await dependants.read(run, organizationId, all, kind.dependants);
    }
  }

  async function mend(error: unknown): Promise<void> {
    if (error instanceof NotRead) await reader.read(error.wanted);
    else if (error instanceof NotCounted) await count();
    else if (error instanceof WriteFirst) await write();
    else throw error;
  }

  async function judged(line: ReadLine): Promise<Judged> {
    if ('refusal' in line) return { result: failedAnswer(line, line.refusal), entries: [] };
    for (let tries = 0; tries < retriesMax; tries += 1) {
      try {
        return await judge(line);
      } catch (error) {
        if (error instanceof ProblemError) {
          return { result: failedAnswer(line, error), entries: [] };
        }
        await mend(error);
      }
    }
    throw new Error(`line ${line.line} asks for more and more`);
  }

  await reader.readFor(good);
  await count();
  const results: BulkResult[] = [];
  const entries: AuditEntry[] = [];
  for (const [index, line] of lines.entries()) {
    const one = await judged(line);
    results.push(one.result);
    entries.push(...one.entries);
    if (index % linesPerTurn === linesPerTurn - 1) await turn();
  }
  await write();
  return { results, entries };
}
