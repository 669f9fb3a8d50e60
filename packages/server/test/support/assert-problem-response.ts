// Asserts the form of a problem response, and that the refused request stored no rows.
import assert from 'node:assert/strict';
import { type ErrorCode, errorCodes, isErrorCode } from '@switchyard/contract';
import { testDatabase } from './database/test-database.ts';
import type { HttpResponse } from './https-client.ts';
import { until } from './wait-for-result.ts';

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
export async function countRows(organizationId: string): Promise<Record<string, number>> {
  const counts = tables.map(
    (table) => `(SELECT count(*)::int FROM ${table} WHERE organization_id = $1) AS ${table}`,
  );
  counts.push('(SELECT count(*)::int FROM feed_events WHERE organization_id = $1) AS events');
  const database = await testDatabase();
  // The relay moves rows from the outbox to the feed. On Citus no statement sees both tables at the same time.
  const isPublished = async () => {
    const statement = 'SELECT 1 FROM outbox WHERE organization_id = $1 LIMIT 1';
    return (await database.query(statement, [organizationId])).length === 0 ? true : undefined;
  };
  await until(isPublished, 'the events to be published');
  const [row] = await database.query(`SELECT ${counts.join(', ')}`, [organizationId]);
  return row as Record<string, number>;
}

/** The body of a problem without its request id, which is random and may contain any digits. */
export const textWithoutRequestId = ({ text, body }: HttpResponse): string =>
  text.replaceAll(body.requestId, '');

type ExpectedProblem = {
  code: ErrorCode;
  /** The pointer of the first entry of `errors`; null where no entry is expected. */
  pointer?: string | null;
  outcome?: 'NotProcessed' | 'Processed' | 'Unknown';
};

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Asserts each member of a problem that the contract defines; the code determines the status. */
export function assertProblem(response: HttpResponse, expected: ExpectedProblem, name = ''): void {
  const { body, headers } = response;
  const message = `${name}: ${response.status} ${response.text.slice(0, 600)}`;
  assert.equal(body?.code, expected.code, message);
  const errorCode = errorCodes[expected.code];
  assert.equal(response.status, errorCode.status, message);
  assert.equal(headers['content-type'], 'application/problem+json', message);
  assert.equal(body.status, errorCode.status, message);
  assert.equal(body.title, errorCode.title, message);
  assert.match(body.type, new RegExp(`^https://[^ ]+/${expected.code}$`), message);
  assert.ok(typeof body.detail === 'string' && body.detail.length > 0, message);
  assert.match(body.requestId, uuid, message);
  assert.equal(body.instance, `urn:uuid:${body.requestId}`, message);
  assert.equal(headers['x-request-id'], body.requestId, message);
  assert.equal(body.outcome, expected.outcome ?? 'NotProcessed', message);
  assert.equal(body.retryable, errorCode.retryable, message);
  assert.equal(headers['cache-control'], 'no-store', message);
  assertErrors(body.errors, expected.pointer, message);
  assertHeaders(response, message);
}

function assertErrors(errors: unknown, pointer: string | null | undefined, message: string): void {
  if (pointer === null) assert.equal(errors, undefined, message);
  if (errors === undefined) {
    assert.ok(pointer === undefined || pointer === null, message);
    return;
  }
  assert.ok(Array.isArray(errors) && errors.length > 0 && errors.length <= 20, message);
  for (const error of errors) {
    assert.deepEqual(Object.keys(error).sort(), ['code', 'detail', 'pointer'], message);
    assert.match(error.pointer, /^(?:|[/?:].*)$/, message);
    assert.ok(typeof error.detail === 'string' && error.detail.length > 0, message);
  }
  if (typeof pointer === 'string') assert.equal(errors[0].pointer, pointer, message);
}

function assertHeaders({ status, headers, body }: HttpResponse, message: string): void {
  const challenge = headers['www-authenticate'];
  if (status === 401) assert.match(String(challenge), /^Bearer realm="/, message);
  else assert.equal(challenge, undefined, message);
  if (status === 405) assert.match(String(headers['allow']), /\b[A-Z]+, OPTIONS|OPTIONS, [A-Z]+/);
  if (status === 429 || status === 503) assert.match(String(headers['retry-after']), /^[1-9]\d*$/);
  if (body.retryAfterMs !== undefined) assert.ok(Number(headers['retry-after']) >= 1, message);
}

/** Asserts that the response is a problem with a documented code and its status, and not a 5xx. */
export function assertAnyProblem(response: HttpResponse, name: string): void {
  assert.ok(response.status < 500, `${name}: ${response.status} ${response.text}`);
  const code = String(response.body?.code);
  assert.ok(isErrorCode(code), `${name}: ${response.status} ${response.text}`);
  assertProblem(response, { code }, name);
}
