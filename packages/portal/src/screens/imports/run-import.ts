/** Sends an import file and reports the progress until the last result arrives. */
import type { BulkImport, BulkResult, BulkSummary } from '@switchyard/contract';
import { ConnectionError } from '../../api/api-errors.ts';
import { api, fetchResponse } from '../../api/client.ts';
import { connectionMonitor } from '../../api/connection-monitor.ts';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import type { ImportFile } from './parse-import-file.ts';
import { readResultStream, streamChunks } from './result-stream.ts';

const limitMs = 30 * 60_000;
const askAgainMs = 1_000;
const mediaTypes = { Csv: 'text/csv', JsonLines: 'application/jsonl' } as const;

export type Summary = BulkSummary['summary'];

export type ImportRun = {
  readonly file: ImportFile;
  readonly bulkId: string;
  /** True to check the file without writing. */
  readonly isTrial: boolean;
  readonly signal: AbortSignal;
  /** Called with the number of processed lines. */
  onProgress(lines: number): void;
};

export type ImportOutcome = { readonly results: readonly BulkResult[]; readonly summary: Summary };

/**
 * A browser reads the response only after it has sent the whole file, so the progress is polled
 * until then.
 */
function watchProgress({ bulkId, isTrial, signal, onProgress }: ImportRun): () => void {
  if (isTrial) return () => {};
  let isOver = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  async function pollProgress(): Promise<void> {
    try {
      const address = `${estateApiUrls.imports}/${bulkId}`;
      const { lines } = await api.get<BulkImport>(address, { signal, isBackground: true });
      if (!isOver) onProgress(lines);
    } catch {
      // The import may not have started yet; the response reports the result.
    }
    if (!isOver) timer = setTimeout(() => void pollProgress(), askAgainMs);
  }
  timer = setTimeout(() => void pollProgress(), askAgainMs);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/**
 * @throws ConnectionError if the response is incomplete; sending the file again continues the
 * import
 */
export async function runImport(run: ImportRun): Promise<ImportOutcome> {
  const { file, bulkId, isTrial, signal, onProgress } = run;
  const type = mediaTypes[file.format];
  const unwatch = watchProgress(run);
  let body: ReadableStream<Uint8Array> | null;
  try {
    ({ body } = await fetchResponse('POST', estateApiUrls.imports, {
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
    for await (const part of readResultStream(streamChunks(body ?? new ReadableStream()))) {
      results.push(...part.results);
      summary = part.summary ?? summary;
      onProgress(results.length);
    }
  } catch (fault) {
    if (signal.aborted) throw fault;
    connectionMonitor.reportLost();
    throw new ConnectionError(fault);
  }
  if (summary === undefined) throw new ConnectionError('the answer has no end');
  return { results, summary };
}

const pageResults = 200;

/** Reads all stored results, for a file. */
export async function readResults(bulkId: string): Promise<BulkResult[]> {
  const results: BulkResult[] = [];
  let cursor: string | undefined;
  do {
    const page = await api.get<{ items: BulkResult[]; nextCursor: string | null }>(
      `${estateApiUrls.imports}/${bulkId}/results`,
      { query: { cursor, limit: pageResults } },
    );
    results.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return results;
}
