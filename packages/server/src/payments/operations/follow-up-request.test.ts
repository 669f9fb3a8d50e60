// What a message about a sale names again of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approval, oneOperation, silence } from '../../../test/one-operation.ts';

test('an operation on a MOTO sale carries the MOTO indicator', async () => {
  const remote = async (request?: Record<string, unknown>) => {
    const { answered, repeated, requests } = oneOperation('Refund', request);
    await answered(silence);
    await repeated(approval);
    return requests.map(({ isRemoteOrder }) => isRemoteOrder);
  };
  assert.deepEqual(await remote({ orderChannel: 'MailOrder' }), [true]);
  assert.deepEqual(await remote({ orderChannel: 'TelephoneOrder' }), [true]);
  assert.deepEqual(await remote(), [undefined]);
});
