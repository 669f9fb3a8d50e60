// The documentation page about idempotency agrees with the responses of the operations.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { errorCodesOf } from '../../support/documented-error-codes.ts';

const docs = new URL('../../../../../docs/', import.meta.url);
const page = await readFile(new URL('explanation/idempotency.md', docs), 'utf8');
const document = JSON.parse(await readFile(new URL('reference/openapi.json', docs), 'utf8'));

/** The text between a heading and the next heading. */
function section(heading: string): string {
  const [, after] = page.split(`\n## ${heading}\n`);
  assert.ok(after, `the page has no heading “${heading}”`);
  return after.split('\n## ', 1)[0] ?? '';
}

const codesIn = (text: string): string[] =>
  [...text.matchAll(/\b[45]\d\d\s+`([a-z]+(?:_[a-z]+)+)`/g)].map(([, code = '']) => code);

const operations = (prefix: string): unknown[] =>
  Object.entries<Record<string, unknown>>(document.paths)
    .filter(([path]) => path.startsWith(prefix))
    .map(([, methods]) => methods['post'])
    .filter((operation) => operation !== undefined);

const answered = (prefixes: string[]): Set<string> =>
  new Set(prefixes.flatMap(operations).flatMap((each) => [...errorCodesOf(document, each)]));

const ofPayments = answered(['/payment/v1/transactions', '/qrcode-payment/v1']);
const ofTheRest = answered(['/provisioning/v2/stores', '/webhooks/v1/endpoints']);

test('the page lists the error codes of payments and no others', () => {
  const documentedCodes = codesIn(section('Payments'));
  for (const code of ['client_id_reused', 'not_sent', 'hsm_unavailable']) {
    assert.ok(documentedCodes.includes(code), `${code} is not told of`);
  }
  for (const code of documentedCodes) assert.ok(ofPayments.has(code), `no payment answers ${code}`);
  assert.match(section('Payments'), /never take a new identifier/);
});

test('the page lists the error codes of the header in its own section, and payments do not use them', () => {
  const [before = ''] = page.split('## The header of everything else');
  const documentedCodes = codesIn(section('The header of everything else'));
  for (const code of ['request_in_progress', 'request_interrupted']) {
    assert.ok(documentedCodes.includes(code), `${code} is not told of`);
    assert.ok(ofTheRest.has(code), `the header does not answer ${code}`);
    assert.ok(!ofPayments.has(code), `a payment answers ${code}`);
    assert.ok(!before.includes(code), `${code} is told of payments`);
  }
  for (const code of documentedCodes)
    assert.ok(ofTheRest.has(code), `the header does not answer ${code}`);
});
