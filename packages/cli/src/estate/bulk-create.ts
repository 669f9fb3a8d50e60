/** Creates many resources of a kind with one bulk request: one line for each, one result for each line. */

import type { ApiClient } from '../http/api-client.ts';
import { membersOf, problemError } from '../http/problem-details.ts';
import { CommandError, fail } from '../runtime/command-error.ts';
import type { Resource, ResourceKind } from './estate-model.ts';

/** The kinds that the bulk route accepts, under the same names. */
const bulkKinds: readonly ResourceKind[] = ['merchant', 'store', 'logicalDevice', 'physicalDevice'];
/** Single requests are as fast below this number. */
const bulkMin = 20;
/** Small enough that a response comes soon and a stopped import ends soon. */
const chunkSize = 500;

export type BulkCreateResult = {
  readonly resource: Resource;
  readonly id?: string;
  readonly fault?: CommandError;
};

export const isWorthBulk = (kind: ResourceKind, count: number): boolean =>
  bulkKinds.includes(kind) && count >= bulkMin;

export function* chunksOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += chunkSize) yield items.slice(at, at + chunkSize);
}

function toCommandError(error: unknown): CommandError {
  const { code, detail, errors } = membersOf(error);
  const members = Array.isArray(errors) ? errors.map(membersOf) : [];
  // Pointers of bulk errors begin with /data; those of single requests do not.
  const pointerOf = (pointer: unknown) => String(pointer).replace(/^\/data(?=\/)/, '');
  const more = members.map(
    (each) => `${pointerOf(each['pointer'])}  ${each['detail']} (${each['code']})`,
  );
  return new CommandError('refused', `${detail} (${code})`, { more, facts: { code } });
}

type Answers = {
  readonly byLine: ReadonlyMap<number, Readonly<Record<string, unknown>>>;
  readonly error?: unknown;
};

function readAnswers(body: Buffer): Answers {
  const byLine = new Map<number, Readonly<Record<string, unknown>>>();
  let error: unknown;
  for (const text of body.toString('utf8').split('\n')) {
    if (text === '') continue;
    let answer: Readonly<Record<string, unknown>>;
    try {
      answer = membersOf(JSON.parse(text));
    } catch {
      return fail('fault', 'The response to the bulk request is not JSON Lines.');
    }
    if (answer['summary'] === undefined) byLine.set(Number(answer['line']), answer);
    else error = membersOf(answer['summary'])['error'];
  }
  return { byLine, error };
}

/** @param toRequestBody throws if a referenced resource does not exist; then its line is not sent */
export async function createInBulk(
  api: ApiClient,
  resources: readonly Resource[],
  bodyOf: (resource: Resource) => unknown,
): Promise<BulkCreateResult[]> {
  const results: BulkCreateResult[] = [];
  const sent: Resource[] = [];
  const lines: string[] = [];
  for (const resource of resources) {
    try {
      lines.push(
        JSON.stringify({ type: resource.kind, operation: 'create', data: bodyOf(resource) }),
      );
      sent.push(resource);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      results.push({ resource, fault: error });
    }
  }
  if (sent.length === 0) return results;
  const raw = { type: 'application/jsonl', bytes: `${lines.join('\n')}\n` };
  const response = await api.raw('POST', '/provisioning/v2/bulk', { raw });
  if (response.status !== 200) throw problemError(response);
  const { byLine, error } = readAnswers(response.body);
  sent.forEach((resource, index) => {
    const answer = byLine.get(index + 1);
    const id = answer?.['id'];
    if (answer?.['status'] === 'created' && typeof id === 'string') results.push({ resource, id });
    else
      results.push({
        resource,
        fault: toCommandError(
          answer?.['error'] ?? error ?? { detail: 'The response has no result for this line.' },
        ),
      });
  });
  return results;
}
