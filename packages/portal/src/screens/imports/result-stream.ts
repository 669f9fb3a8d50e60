/** The answer to an import as it comes: a line for each line, and the summary behind the last. */

import { type BulkResult, type BulkSummary, defined } from '@switchyard/contract';
import { writeCsv } from './csv.ts';

export type Answers = {
  readonly results: readonly BulkResult[];
  readonly summary?: BulkSummary['summary'];
};

/** Gives what has come whenever something has; half a line waits for its other half. */
export async function* readAnswers(body: AsyncIterable<Uint8Array>): AsyncGenerator<Answers> {
  const decoder = new TextDecoder();
  let rest = '';
  function read(text: string): Answers {
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

/** Browsers that cannot iterate a stream read it by hand. */
export async function* partsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
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

/** What is wrong, member by member. */
export function fieldFaults({ error }: BulkResult): string {
  return (error?.errors ?? []).map(({ pointer, detail }) => `${pointer}: ${detail}`).join(' ');
}

/** The answers as a table that a sheet can open. */
export function resultTable(results: readonly BulkResult[]): string {
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
    fieldFaults(result),
  ]);
  return writeCsv([columns, ...rows], true);
}
