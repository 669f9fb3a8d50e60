// The Idempotency-Key header identifies a payment if the body has no identifier.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { assertProblem } from '../../support/assert-problem-response.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import type { TestOrganization } from '../../support/test-organization.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';
import { offlineSale } from '../offline/offline-uploads.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();

const withoutId = ({ clientTransactionId: _id, ...members }: Record<string, unknown>) => members;

const process = (setup: TestOrganization, body: unknown, key?: string) =>
  setup.client.call('POST', '/payment/v1/transactions/process', {
    token: setup.merchant.token,
    body,
    headers: key === undefined ? {} : { 'idempotency-key': key },
  });

describe('the header Idempotency-Key of a sale', { concurrency: 4 }, () => {
  for (const [kind, bodyOf] of [
    ['an online sale', () => keyedSale()],
    ['an offline sale', (setup: TestOrganization) => offlineSale(setup)],
  ] as const) {
    test(`the header alone becomes the clientTransactionId of ${kind}`, async () => {
      const setup = await createOrganization();
      const body = withoutId(bodyOf(setup));
      const key = randomUUID();
      const first = await process(setup, body, key);
      assert.deepEqual([first.status, first.body.clientTransactionId], [200, key], first.text);
      const { transactionId } = first.body;
      for (const again of [
        await process(setup, body, key),
        await process(setup, { ...body, clientTransactionId: key }),
        await process(setup, { ...body, clientTransactionId: key }, key),
      ]) {
        assert.equal(again.body.transactionId, transactionId, again.text);
        assert.equal(again.headers['idempotent-replayed'], 'true');
      }
      const other = await process(setup, { ...body, amount: 99 }, key);
      assertProblem(other, { code: 'client_id_reused', pointer: '/amount' });
    });
  }

  // Spec: IDEM-3
  test('the header is refused if it differs from the body or is no identifier', async () => {
    const setup = await createOrganization();
    const body = keyedSale();
    assertProblem(await process(setup, body, randomUUID()), { code: 'idempotency_key_mismatch' });
    const bodyWithoutId = withoutId(body);
    assertProblem(await process(setup, bodyWithoutId), {
      code: 'field_required',
      pointer: '/clientTransactionId',
    });
    assertProblem(await process(setup, bodyWithoutId, 'a b'), { code: 'header_invalid' });
    assertProblem(await process(setup, bodyWithoutId, '..'), { code: 'client_id_invalid' });
    assertProblem(await process(setup, bodyWithoutId, '4111111111111111'), {
      code: 'client_id_invalid',
    });
  });
});

test('the ledgers of platform and host agree', assertLedgersAgree);
