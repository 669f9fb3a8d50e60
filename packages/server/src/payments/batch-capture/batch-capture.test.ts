import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Refusal } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { type CaptureAllDeps, captureAll } from './batch-capture.ts';

const organizationId = '01890000-0000-7000-8000-000000000001';
const batchId = '01890000-0000-7000-8000-000000000002';
const idOf = (index: number) => `01890000-0000-7000-8000-${String(index).padStart(12, '0')}`;

describe('a capture batch with a list of sales', () => {
  it('reads all sales in one query and names the unknown one', async () => {
    let lookups = 0;
    const names = Array.from({ length: 5000 }, (_, index) => `sale-${index}`);
    const deps = {
      ids: { uuid: () => batchId },
      transactions: { findByClientId: () => assert.fail('reads one sale alone') },
      batches: {
        async findRequestedSales() {
          lookups += 1;
          return names.map((_, index) =>
            index === 4321
              ? undefined
              : { transactionId: idOf(index), currency: 'EUR', remainingAmount: 1 },
          );
        },
      },
    } as unknown as CaptureAllDeps;
    const caller = { organizationId, merchantId: idOf(1) } as Caller;
    const items = names.map((transactionId) => ({ transactionId }));
    await assert.rejects(captureAll(deps, caller, { items }), (error: Refusal) => {
      assert.equal(error.code, 'transaction_not_found');
      assert.equal(error.errors?.[0]?.pointer, '/items/4321/transactionId');
      return true;
    });
    assert.equal(lookups, 1);
  });
});
