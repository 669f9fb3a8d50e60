import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  approvedOutcome,
  createPendingOperation,
  noResponseOutcome,
} from '../../../test/payments/operations/pending-operation.ts';

test('an operation on a MOTO sale carries the MOTO indicator', async () => {
  const remote = async (request?: Record<string, unknown>) => {
    const { storeOutcome, retry, requests } = createPendingOperation('Refund', request);
    await storeOutcome(noResponseOutcome);
    await retry(approvedOutcome);
    return requests.map(({ isRemoteOrder }) => isRemoteOrder);
  };
  assert.deepEqual(await remote({ orderChannel: 'MailOrder' }), [true]);
  assert.deepEqual(await remote({ orderChannel: 'TelephoneOrder' }), [true]);
  assert.deepEqual(await remote(), [undefined]);
});
