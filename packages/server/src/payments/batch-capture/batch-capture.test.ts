import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProblemError } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { type CaptureAllPorts, planCaptures } from './batch-capture.ts';

const idOf = (index: number) => `01890000-0000-7000-8000-${String(index).padStart(12, '0')}`;
const createdAt = new Date(0);

test('a list of 5,000 sales is read in one query, and the unknown one is named', async () => {
  let queries = 0;
  const identifiers = Array.from({ length: 5000 }, (_, index) => `sale-${index}`);
  const ports = {
    batches: {
      async findRequestedSales() {
        queries += 1;
        const sale = { currency: 'EUR', remainingAmount: 1, createdAt };
        return identifiers.map((_, index) =>
          index === 4321 ? undefined : { transactionId: idOf(index), ...sale },
        );
      },
      countCapturable: () => assert.fail('counts the selection'),
      listCapturable: () => assert.fail('reads the selection'),
    },
    provisioning: {
      merchants: { get: () => assert.fail('reads the merchant of the token') },
      stores: { get: () => assert.fail('reads a store') },
    },
  } as unknown as CaptureAllPorts;
  const caller = { organizationId: idOf(0), merchantId: idOf(1) } as Caller;
  const items = identifiers.map((transactionId) => ({ transactionId }));
  await assert.rejects(planCaptures(ports, caller, { items }), (error: ProblemError) => {
    assert.equal(error.code, 'transaction_not_found');
    assert.equal(error.errors?.[0]?.pointer, '/items/4321/transactionId');
    return true;
  });
  assert.equal(queries, 1);
});
