/** Sends a file, and tells how far the platform is with it until the last line is answered. */
import type { BulkImport, BulkResult, BulkSummary } from '@switchyard/contract';
import { ConnectionError } from '../../api/api-errors.ts';
import { api, callRaw } from '../../api/client.ts';
import { connection } from '../../api/connection-monitor.ts';
import { addresses } from '../estate/entity-kinds.ts';
import type { ImportFile } from './parse-import-file.ts';
import { partsOf, readAnswers } from './result-stream.ts';

const limitMs = 30 * 60_000;
const askAgainMs = 1_000;
const mediaTypes = { Csv: 'text/csv', JsonLines: 'application/jsonl' } as const;

export type Summary = BulkSummary['summary'];

export type ImportRun = {
  readonly file: ImportFile;
  readonly bulkId: string;
  /** Checks everything and writes nothing. */
  readonly isTrial: boolean;
  readonly signal: AbortSignal;
  /** How many lines are done, as far as is known. */
  onProgress(lines: number): void;
};

export type ImportOutcome = { readonly results: readonly BulkResult[]; readonly summary: Summary };

/** A browser reads no answer before it has sent everything: until then the platform is asked. */
function watch({ bulkId, isTrial, signal, onProgress }: ImportRun): () => void {
  if (isTrial) return () => {};
  let isOver = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  async function pollProgress(): Promise<void> {
    try {
      const address = `${addresses.imports}/${bulkId}`;
      const { lines } = await api.get<BulkImport>(address, { signal, isBackground: true });
      if (!isOver) onProgress(lines);
    } catch {
      // It has not begun yet, or cannot be asked now: the answer itself will tell.
    }
    if (!isOver) timer = setTimeout(() => void pollProgress(), askAgainMs);
  }
  timer = setTimeout(() => void pollProgress(), askAgainMs);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/** @throws ConnectionError where the answer broke off: sent again, the import goes on */
export async function runImport(run: ImportRun): Promise<ImportOutcome> {
  const { file, bulkId, isTrial, signal, onProgress } = run;
  const type = mediaTypes[file.format];
  const unwatch = watch(run);
  let body: ReadableStream<Uint8Array> | null;
  try {
    ({ body } = await callRaw('POST', addresses.imports, {
      query: isTrial ? { dryRun: true } : {},
      file: { content: new Blob([file.content]), type },
      ...(isTrial ? {} : { idempotencyKey: bulkId }),
      signal,
      limitMs,
    }));
  } finally {
    unwatch();
  }
  const results: BulkResult[] = [];
  let summary: Summary | undefined;
  try {
    for await (const part of readAnswers(partsOf(body ?? new ReadableStream()))) {
      results.push(...part.results);
      summary = part.summary ?? summary;
      onProgress(results.length);
    }
  } catch (fault) {
    if (signal.aborted) throw fault;
    connection.lost();
    throw new ConnectionError(fault);
  }
  if (summary === undefined) throw new ConnectionError('the answer has no end');
  return { results, summary };
}

const pageResults = 200;

/** All answers that were kept, for a file. */
export async function readResults(bulkId: string): Promise<BulkResult[]> {
  const results: BulkResult[] = [];
  let cursor: string | undefined;
  do {
    const page = await api.get<{ items: BulkResult[]; nextCursor: string | null }>(
      `${addresses.imports}/${bulkId}/results`,
      { query: { cursor, limit: pageResults } },
    );
    results.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return results;
}
