import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  approval,
  noResponse,
  oneOperation,
} from '../../../test/payments/operations/pending-operation.ts';

test('an operation on a MOTO sale carries the MOTO indicator', async () => {
  const remote = async (request?: Record<string, unknown>) => {
    const { storeOutcome, retry, requests } = oneOperation('Refund', request);
    await storeOutcome(noResponse);
    await retry(approval);
    return requests.map(({ isRemoteOrder }) => isRemoteOrder);
  };
  assert.deepEqual(await remote({ orderChannel: 'MailOrder' }), [true]);
  assert.deepEqual(await remote({ orderChannel: 'TelephoneOrder' }), [true]);
  assert.deepEqual(await remote(), [undefined]);
});
