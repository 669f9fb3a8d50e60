// Asserts the form of a problem response, and that the refused request stored no rows.
import assert from 'node:assert/strict';
import { type ErrorCode, errorCodes, isErrorCode } from '@switchyard/contract';
import { testDatabase } from './database/test-database.ts';
import type { Answer } from './https-client.ts';

/** Tables to which a payment adds rows. */
const tables = [
  'transactions',
  'transaction_events',
  'operations',
  'jobs',
  'vault_cards',
  'acquirer_terminals',
  'capture_batches',
  'capture_batch_items',
] as const;

/** The number of rows of an organisation in each table. */
export async function rowsOf(organizationId: string): Promise<Record<string, number>> {
  const counts = tables.map(
    (table) => `(SELECT count(*)::int FROM ${table} WHERE organization_id = $1) AS ${table}`,
  );
  // The relay moves a row from the outbox to the feed, so both tables count together.
  counts.push(
    `(SELECT count(*)::int FROM outbox WHERE organization_id = $1) +
     (SELECT count(*)::int FROM feed_events WHERE organization_id = $1) AS events`,
  );
  const database = await testDatabase();
  const [row] = await database.query(`SELECT ${counts.join(', ')}`, [organizationId]);
  return row as Record<string, number>;
}

/** The body of a problem without its request id, which is random and may contain any digits. */
export const saidIn = ({ text, body }: Answer): string => text.replaceAll(body.requestId, '');

type Expected = {
  code: ErrorCode;
  /** The pointer of the first entry of `errors`; null where no entry is expected. */
  pointer?: string | null;
  outcome?: 'NotProcessed' | 'Processed' | 'Unknown';
};

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Asserts each member of a problem that the contract defines; the code determines the status. */
export function assertRefused(answer: Answer, expected: Expected, name = ''): void {
  const { body, headers } = answer;
  const told = `${name}: ${answer.status} ${answer.text.slice(0, 600)}`;
  assert.equal(body?.code, expected.code, told);
  const facts = errorCodes[expected.code];
  assert.equal(answer.status, facts.status, told);
  assert.equal(headers['content-type'], 'application/problem+json', told);
  assert.equal(body.status, facts.status, told);
  assert.equal(body.title, facts.title, told);
  assert.match(body.type, new RegExp(`^https://[^ ]+/${expected.code}$`), told);
  assert.ok(typeof body.detail === 'string' && body.detail.length > 0, told);
  assert.match(body.requestId, uuid, told);
  assert.equal(body.instance, `urn:uuid:${body.requestId}`, told);
  assert.equal(headers['x-request-id'], body.requestId, told);
  assert.equal(body.outcome, expected.outcome ?? 'NotProcessed', told);
  assert.equal(body.retryable, facts.retryable, told);
  assert.equal(headers['cache-control'], 'no-store', told);
  assertErrors(body.errors, expected.pointer, told);
  assertHeaders(answer, told);
}

function assertErrors(errors: unknown, pointer: string | null | undefined, told: string): void {
  if (pointer === null) assert.equal(errors, undefined, told);
  if (errors === undefined) {
    assert.ok(pointer === undefined || pointer === null, told);
    return;
  }
  assert.ok(Array.isArray(errors) && errors.length > 0 && errors.length <= 20, told);
  for (const error of errors) {
    assert.deepEqual(Object.keys(error).sort(), ['code', 'detail', 'pointer'], told);
    assert.match(error.pointer, /^(?:|[/?:].*)$/, told);
    assert.ok(typeof error.detail === 'string' && error.detail.length > 0, told);
  }
  if (typeof pointer === 'string') assert.equal(errors[0].pointer, pointer, told);
}

function assertHeaders({ status, headers, body }: Answer, told: string): void {
  const challenge = headers['www-authenticate'];
  if (status === 401) assert.match(String(challenge), /^Bearer realm="/, told);
  else assert.equal(challenge, undefined, told);
  if (status === 405) assert.match(String(headers['allow']), /\b[A-Z]+, OPTIONS|OPTIONS, [A-Z]+/);
  if (status === 429 || status === 503) assert.match(String(headers['retry-after']), /^[1-9]\d*$/);
  if (body.retryAfterMs !== undefined) assert.ok(Number(headers['retry-after']) >= 1, told);
}

/** Asserts that the response is a problem with a documented code and its status, and not a 5xx. */
export function assertAnyRefusal(answer: Answer, name: string): void {
  assert.ok(answer.status < 500, `${name}: ${answer.status} ${answer.text}`);
  const code = String(answer.body?.code);
  assert.ok(isErrorCode(code), `${name}: ${answer.status} ${answer.text}`);
  assertRefused(answer, { code }, name);
}
