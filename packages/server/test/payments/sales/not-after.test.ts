// A sale with `notAfter`: a later request stores nothing, a processed sale is replayed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem, countRows } from '../../support/assert-problem-response.ts';
import type { HttpResponse } from '../../support/https-client.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import type { TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();

const sell = (setup: TestOrganization, body: unknown): Promise<HttpResponse> =>
  setup.client.call('POST', '/payment/v1/transactions/process', {
    token: setup.merchant.token,
    body,
  });

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

// Spec: CARD-59
test('a request after notAfter is refused without a message to the host, and its identifier stays free', async () => {
  const setup = await createOrganization();
  const before = await countRows(setup.organizationId);
  const sold = setup.host.ledger().entries;
  const body = keyedSale({ notAfter: inMs(-1), confirmWithinSeconds: 30 });
  const late = await sell(setup, body);
  assertProblem(late, { code: 'too_late', pointer: null });
  assert.deepEqual(await countRows(setup.organizationId), before);
  const again = await sell(setup, { ...body, notAfter: inMs(60_000) });
  assert.deepEqual([again.status, again.body.state], [200, 'Captured'], again.text);
  // Without it the ledger check would wait until the confirmation period ends.
  const confirm = `/payment/v1/transactions/${again.body.transactionId}/confirm`;
  assert.equal(
    (await setup.client.call('POST', confirm, { token: setup.merchant.token })).status,
    200,
  );
  assert.ok(setup.host.ledger().entries > sold);
});

test('a replay of a processed sale succeeds after notAfter', async () => {
  const setup = await createOrganization();
  const notAfter = inMs(5_000);
  const body = keyedSale({ notAfter });
  const first = await sell(setup, body);
  assert.equal(first.status, 200, first.text);
  await until(() => (Date.now() > Date.parse(notAfter) + 5 ? true : undefined), 'its time to pass');
  const again = await sell(setup, body);
  assert.deepEqual([again.status, again.body.transactionId], [200, first.body.transactionId]);
  assert.equal(again.headers['idempotent-replayed'], 'true');
  const later = await sell(setup, { ...body, notAfter: inMs(60_000) });
  assert.deepEqual([later.status, later.body.transactionId], [200, first.body.transactionId]);
  const other = await sell(setup, { ...body, amount: 4321 });
  assertProblem(other, { code: 'too_late' }, 'the fault of time comes first');
});

test('the ledgers of platform and host agree', assertLedgersAgree);
