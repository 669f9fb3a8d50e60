/** Reads the streamed response of an import: one result per line, then the summary. */

import { type BulkResult, type BulkSummary, defined } from '@switchyard/contract';
import { writeCsv } from './csv.ts';

export type ResultBatch = {
  readonly results: readonly BulkResult[];
  readonly summary?: BulkSummary['summary'];
};

/** Yields results as they arrive; an incomplete line waits for the next chunk. */
export async function* readResultStream(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<ResultBatch> {
  const decoder = new TextDecoder();
  let rest = '';
  function read(text: string): ResultBatch {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    const values = lines
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as BulkResult | BulkSummary);
    const results = values.filter((value) => 'line' in value);
    const last = values.find((value) => 'summary' in value);
    return { results, ...defined({ summary: last?.summary }) };
  }
  for await (const part of body) yield read(decoder.decode(part, { stream: true }));
  yield read(`${decoder.decode()}\n`);
}

/** Some browsers cannot iterate a stream, so this reads it with a reader. */
export async function* streamChunks(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.releaseLock();
  }
}

const columns = [
  'line',
  'status',
  'type',
  'id',
  'externalId',
  'clientId',
  'clientSecret',
  'code',
  'detail',
  'fields',
];

/** The errors of a result, by field. */
export function resultErrorText({ error }: BulkResult): string {
  return (error?.errors ?? []).map(({ pointer, detail }) => `${pointer}: ${detail}`).join(' ');
}

/** The results as CSV for a spreadsheet. */
export function resultsAsCsv(results: readonly BulkResult[]): string {
  const rows = results.map((result) => [
    String(result.line),
    result.status,
    result.type ?? '',
    result.id ?? '',
    result.externalId ?? '',
    result.clientId ?? '',
    result.clientSecret ?? '',
    result.error?.code ?? '',
    result.error?.detail ?? '',
    resultErrorText(result),
  ]);
  return writeCsv([columns, ...rows], true);
}
