import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ErrorCode, Refusal } from '@switchyard/contract';
import type { Caller } from '../http/index.ts';
import type { Job, NewJob } from '../platform/index.ts';
import type { BatchItem, BatchRow } from './batch-store.ts';
import { type CaptureAllDeps, captureAll, workBatch } from './capture-all.ts';
import type { LoadedTransaction, StoredOperation } from './model.ts';

const organizationId = '01890000-0000-7000-8000-000000000001';
const batchId = '01890000-0000-7000-8000-000000000002';
const idOf = (index: number) => `01890000-0000-7000-8000-${String(index).padStart(12, '0')}`;

type Result = { transactionId: string; status: string; code?: string };

/** A batch over sales of which nothing is known but what an operation on them is answered with. */
function batchOf(count: number, answer: (transactionId: string) => StoredOperation | ErrorCode) {
  const items = new Map<string, BatchItem>();
  for (let index = 1; index <= count; index += 1) {
    const transactionId = idOf(index);
    const item = { transactionId, amount: 100, status: 'Pending', code: undefined } as const;
    items.set(transactionId, item);
  }
  const tried: string[] = [];
  const named: string[] = [];
  const enqueued: NewJob[] = [];
  const recorded: Result[] = [];
  const failed = new Map<string, StoredOperation[]>();
  const loadedOf = (transactionId: string, operations: StoredOperation[]) =>
    ({
      row: { organizationId, transactionId, merchantId: 'm' },
      operations: [...(failed.get(transactionId) ?? []), ...operations],
      events: [],
    }) as unknown as LoadedTransaction;
  const asked = new Set<string>();
  const deps = {
    clock: { now: () => 1_000_000 },
    ids: { uuid: () => idOf(enqueued.length + 900) },
    acquirerTimeoutMs: 0,
    jobs: { enqueue: async (job: NewJob) => void enqueued.push(job) },
    store: {
      async findById(_: string, transactionId: string) {
        const operation = asked.has(transactionId) ? answer(transactionId) : undefined;
        return loadedOf(transactionId, typeof operation === 'object' ? [operation] : []);
      },
      async findOperation({ clientOperationId }: { clientOperationId: string }) {
        named.push(clientOperationId);
        const bytes = Buffer.from(clientOperationId.split(':')[2] ?? '', 'base64url');
        const hex = bytes.toString('hex');
        const transactionId = [...items.keys()].find((id) => id.replaceAll('-', '') === hex) ?? '';
        tried.push(transactionId);
        const operation = answer(transactionId);
        if (typeof operation === 'string') throw new Refusal(operation, 'As the test says.');
        asked.add(transactionId);
        return { transactionId, number: operation.number };
      },
    },
    batches: {
      find: async () =>
        ({
          batchId,
          state: [...items.values()].some(({ status }) => status === 'Pending')
            ? 'Running'
            : 'Completed',
        }) as BatchRow,
      items: async ({ after, limit }: { after?: string; limit: number }) =>
        [...items.values()]
          .filter(({ transactionId, status }) => {
            return status === 'Pending' && (after === undefined || transactionId > after);
          })
          .slice(0, limit),
      async record(_organization: string, _batch: string, results: Result[]) {
        recorded.push(...results);
        for (const { transactionId, status } of results) {
          const item = items.get(transactionId);
          assert.ok(item);
          items.set(transactionId, { ...item, status: status as BatchItem['status'] });
        }
      },
    },
  } as unknown as CaptureAllDeps;
  const work = (payload: Record<string, unknown> = { batchId }) =>
    workBatch(deps, { organizationId, payload } as unknown as Job);
  return { work, tried, named, enqueued, recorded, failed };
}

const operation = (status: StoredOperation['status'], more = {}) =>
  ({
    number: 9,
    status,
    details: { request: { amount: 100 } },
    ...more,
  }) as unknown as StoredOperation;

describe('an item of a capture of all', () => {
  for (const code of [
    'transaction_in_progress',
    'concurrent_modification',
    'reversal_in_progress',
  ] as const) {
    it(`is left for later after ${code}`, async () => {
      const { work, recorded } = batchOf(1, () => code);
      const again = await work();
      assert.deepEqual(recorded, []);
      assert.ok(Number(again?.retryAt) > 1_000_000);
    });
  }

  for (const code of ['database_unavailable', 'acquirer_unavailable', 'overloaded'] as const) {
    it(`fails the job after ${code}, and is tried again with it`, async () => {
      const { work, recorded } = batchOf(1, () => code);
      await assert.rejects(work(), { code });
      assert.deepEqual(recorded, []);
    });
  }

  it('has failed for good after any other refusal', async () => {
    const { work, recorded } = batchOf(1, () => 'already_cancelled');
    await work();
    const transactionId = idOf(1);
    assert.deepEqual(recorded, [{ transactionId, status: 'Failed', code: 'already_cancelled' }]);
  });

  it('is tried again under another name where the capture was never sent', async () => {
    const { work, recorded, named, failed } = batchOf(1, () =>
      operation(named.length < 2 ? 'Failed' : 'Succeeded'),
    );
    await work().catch((error: Refusal) => assert.equal(error.code, 'not_sent'));
    assert.deepEqual(recorded, []);
    failed.set(idOf(1), [operation('Failed', { number: 1, clientOperationId: named[0] })]);
    await work();
    assert.deepEqual(recorded, [{ transactionId: idOf(1), status: 'Succeeded' }]);
    assert.equal(named[1], `${named[0]}:1`);
  });

  it('is captured under a name that no client can give, within the length of a client’s', async () => {
    const { work, named } = batchOf(1, () => operation('Succeeded'));
    await work();
    const [name = ''] = named;
    assert.ok(name.length > 0 && `${name}:9999`.length <= 64, name);
    assert.doesNotMatch(name, /^[A-Za-z0-9._:-]+$/);
  });
});

describe('a capture of all of more than a page', () => {
  it('goes on behind items without an answer, and comes back to them after a pause', async () => {
    const open = new Set(Array.from({ length: 200 }, (_, index) => idOf(index + 1)));
    const { work, tried, enqueued, recorded } = batchOf(250, (id) =>
      operation(open.has(id) ? 'Pending' : 'Succeeded'),
    );
    assert.equal(await work(), undefined);
    assert.deepEqual(recorded, []);
    assert.deepEqual(enqueued[0]?.payload, { batchId, after: idOf(200) });
    assert.equal(await work(enqueued[0]?.payload), undefined);
    assert.equal(recorded.length, 50);
    assert.deepEqual(enqueued[1]?.payload, { batchId });
    assert.ok(Number(enqueued[1]?.dueAt) > 1_000_000);
    open.clear();
    await work(enqueued[1]?.payload);
    assert.equal(recorded.length, 250);
    assert.equal(new Set(tried).size, 250);
    assert.equal(await work(enqueued[2]?.payload), undefined);
    assert.equal(enqueued.length, 3);
  });
});

describe('a capture of all of named sales', () => {
  it('looks all of them up at once, and points at the unknown one', async () => {
    let lookups = 0;
    const names = Array.from({ length: 5000 }, (_, index) => `sale-${index}`);
    const deps = {
      ids: { uuid: () => batchId },
      store: { findByClientId: () => assert.fail('looks for one alone') },
      batches: {
        async named() {
          lookups += 1;
          return names.map((_, index) =>
            index === 4321 ? undefined : { transactionId: idOf(index), currency: 'EUR', open: 1 },
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
