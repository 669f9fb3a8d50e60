import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ErrorCode, ProblemError } from '@switchyard/contract';
import { dueClockOf } from '../../../test/support/movable-clock.ts';
import { type Job, type NewJob, unguardedNumbering } from '../../platform/index.ts';
import { createInFlightTransactions } from '../runtime/in-flight-transactions.ts';
import type {
  StoredOperation,
  TransactionChange,
  TransactionRecord,
} from '../transaction/transaction.ts';
import type { BatchItem, BatchResult, BatchRow } from './batch-sql.ts';
import {
  type BatchWorkerPorts,
  batchCaptureContractJob,
  createBatchWorker,
} from './batch-worker.ts';

const organizationId = '01890000-0000-7000-8000-000000000001';
const batchId = '01890000-0000-7000-8000-000000000002';
const near = '01890000-0000-7000-8000-00000000000a';
const far = '01890000-0000-7000-8000-00000000000b';
const idOf = (index: number) => `01890000-0000-7000-8000-${String(index).padStart(12, '0')}`;

const linkByParity = (transactionId: string) =>
  Number(transactionId.slice(-3)) % 2 === 0 ? far : near;

type Answer = StoredOperation['status'] | ErrorCode | 'Unsent' | 'Fault';
type Item = BatchItem & { contractId: string };

const statuses: ReadonlySet<string> = new Set(['Succeeded', 'Pending', 'Declined', 'Failed']);

type Routing = { contractId?: string; linkOf?: (transactionId: string) => string };

/** A batch of sales that are captured as the answer says. Each link has a contract with the same identifier. */
function batchOf(
  count: number,
  answer: (transactionId: string) => Answer,
  { contractId, linkOf = linkByParity }: Routing = {},
) {
  const items = new Map<string, Item>();
  for (let index = 1; index <= count; index += 1) {
    const transactionId = idOf(index);
    const item = { transactionId, amount: 100, code: null, status: 'Pending' } as const;
    items.set(transactionId, { ...item, contractId: contractId ?? linkOf(transactionId) });
  }
  const startedAt = performance.now();
  const down = new Set<string>();
  const tried: string[] = [];
  const sentIds: string[] = [];
  const enqueued: NewJob[] = [];
  const recorded: BatchResult[] = [];
  const logged: string[] = [];
  const operations = new Map<string, StoredOperation[]>();
  const transactionFor = (transactionId: string) =>
    ({
      row: {
        organizationId,
        transactionId,
        merchantId: 'm',
        currency: 'EUR',
        amount: 100,
        overCaptureAllowance: 0,
        state: 'Authorized',
        version: 2,
        operationCount: (operations.get(transactionId) ?? []).length,
        createdAt: '2026-01-01T00:00:00.000Z',
        position: {
          phase: 'Approved',
          authorized: 100,
          captured: 0,
          cancelled: 0,
          refunded: 0,
          captureReserved: 0,
          cancelReserved: 0,
          refundReserved: 0,
        },
      },
      events: [
        {
          sequence: 1,
          data: {
            context: {
              linkId: linkOf(transactionId),
              timeZone: 'UTC',
              card: { token: 't' },
              reference: {},
              request: {},
            },
          },
        },
      ],
      operations: operations.get(transactionId) ?? [],
    }) as unknown as TransactionRecord;

  const ports = {
    clock: { now: () => 1_000_000 + performance.now() - startedAt },
    dueClock: dueClockOf({ now: () => 1_000_000 + performance.now() - startedAt }),
    ids: { uuid: () => idOf(900) },
    acquirerTimeoutMs: 1000,
    failPoints: { hit() {} },
    numbering: unguardedNumbering,
    log: {
      error: ({ transactionId }: { transactionId: string }) => void logged.push(transactionId),
      warn() {},
      debug() {},
    },
    inFlightTransactions: createInFlightTransactions(),
    paymentMetrics: { recordFinished() {} },
    jobs: { enqueue: async (job: NewJob) => void enqueued.push(job) },
    provisioning: {
      findContract: async () => ({
        partialCancel: true,
        multipleCapture: true,
        overCapturePercent: 0,
      }),
    },
    vault: { detokenizeCard: async () => ({ pan: '', expiry: '' }), wasDeleted: () => false },
    acquiring: {
      isLinkAvailable: (linkId: string) => !down.has(linkId),
      allocateReference: async () => ({}),
      async send({ transactionId }: { transactionId: string }) {
        tried.push(transactionId);
        const result = answer(transactionId);
        if (result === 'Unsent') return { outcome: 'NotSent', reason: 'gone' };
        if (result === 'Pending') return { outcome: 'Unknown', reason: 'Timeout' };
        if (result === 'Declined') return { outcome: 'Declined', responseCode: '61' };
        return { outcome: 'Approved', responseCode: '00', amount: 100 };
      },
    },
    transactions: {
      onSaleWrite: () => () => {},
      async findById(_: string, transactionId: string) {
        const result = answer(transactionId);
        if (result === 'Fault') throw new Error('The test requests this error.');
        if (!statuses.has(result) && result !== 'Unsent') {
          throw new ProblemError(result as ErrorCode, 'The test requests this error.');
        }
        return transactionFor(transactionId);
      },
      async update({ after, operation }: TransactionChange) {
        if (operation === undefined) return true;
        if (operation.status === 'Sent') sentIds.push(String(operation.clientOperationId));
        const others = (operations.get(after.transactionId) ?? []).filter(
          ({ operationNumber }) => operationNumber !== operation.operationNumber,
        );
        operations.set(after.transactionId, [...others, operation]);
        return true;
      },
    },
    batches: {
      find: async () => {
        const isOpen = [...items.values()].some(({ status }) => status === 'Pending');
        return { batchId, state: isOpen ? 'Running' : 'Completed' } as BatchRow;
      },
      async listPendingContracts() {
        const open = [...items.values()].filter(({ status }) => status === 'Pending');
        return [...new Set(open.map((item) => item.contractId))];
      },
      listPendingItems: async (page: { contractId: string; after?: string; limit: number }) =>
        [...items.values()]
          .filter(({ transactionId, status, contractId }) => {
            const isBehind = page.after === undefined || transactionId > page.after;
            return status === 'Pending' && contractId === page.contractId && isBehind;
          })
          .slice(0, page.limit),
      async recordResults(_organization: string, _batch: string, results: BatchResult[]) {
        recorded.push(...results);
        for (const { transactionId, status } of results) {
          const item = items.get(transactionId);
          assert.ok(item);
          items.set(transactionId, { ...item, status });
        }
      },
    },
  } as unknown as BatchWorkerPorts;
  const work = createBatchWorker(ports);
  const jobOf = (payload: object, attempts = 0) =>
    ({ organizationId, jobId: JSON.stringify(payload), payload, attempts }) as unknown as Job;
  return {
    tried,
    named: sentIds,
    enqueued,
    recorded,
    operations,
    down,
    logged,
    startContractJobs: () => work.startContractJobs(jobOf({ batchId })),
    isCapturing: work.isCapturing,
    captureContractItems: (contractId: string, attempts = 0) =>
      work.captureContractItems(jobOf({ batchId, contractId }, attempts)),
  };
}

describe('an item of a capture batch', () => {
  for (const code of [
    'transaction_in_progress',
    'concurrent_modification',
    'reversal_in_progress',
    'confirmation_pending',
  ] as const) {
    it(`is left for later after ${code}`, async () => {
      const { captureContractItems, recorded } = batchOf(1, () => code);
      const again = await captureContractItems(near);
      assert.deepEqual(recorded, []);
      assert.ok(Number(again?.retryAt) > 1_000_000);
    });
  }

  for (const code of ['database_unavailable', 'overloaded'] as const) {
    it(`fails the job after ${code}, and is tried again with it`, async () => {
      const { captureContractItems, recorded } = batchOf(1, () => code);
      await assert.rejects(captureContractItems(near), { code });
      assert.deepEqual(recorded, []);
    });
  }

  it('fails permanently after other refusals and after a decline', async () => {
    const { captureContractItems, recorded } = batchOf(3, (id) =>
      id === idOf(1) ? 'already_cancelled' : 'Declined',
    );
    await captureContractItems(near);
    assert.deepEqual(recorded, [
      { transactionId: idOf(1), status: 'Failed', code: 'already_cancelled' },
      { transactionId: idOf(3), status: 'Failed', code: '61' },
    ]);
  });

  it('with an unexpected error is logged and does not block later items', async () => {
    const { captureContractItems, recorded, logged } = batchOf(5, (id) =>
      id === idOf(1) ? 'Fault' : 'Succeeded',
    );
    assert.ok(Number((await captureContractItems(near))?.retryAt) > 1_000_000);
    assert.deepEqual(
      recorded.map(({ transactionId }) => transactionId),
      [idOf(3), idOf(5)],
    );
    assert.deepEqual(logged, [idOf(1)]);
  });

  it('that waits for confirmation does not block later items and is captured after it', async () => {
    let isConfirmed = false;
    const { captureContractItems, recorded } = batchOf(5, (id) =>
      id === idOf(1) && !isConfirmed ? 'confirmation_pending' : 'Succeeded',
    );
    assert.ok(Number((await captureContractItems(near))?.retryAt) > 1_000_000);
    const done = () => recorded.map(({ transactionId }) => transactionId);
    assert.deepEqual(done(), [idOf(3), idOf(5)]);
    isConfirmed = true;
    assert.equal(await captureContractItems(near), undefined);
    assert.deepEqual(done(), [idOf(3), idOf(5), idOf(1)]);
  });

  it('is retried with a new identifier when the capture was not sent', async () => {
    let isSent = false;
    const {
      captureContractItems,
      recorded,
      named: sentIds,
    } = batchOf(1, () => (isSent ? 'Succeeded' : 'Unsent'));
    assert.ok(Number((await captureContractItems(near))?.retryAt) > 1_000_000);
    assert.deepEqual(recorded, []);
    isSent = true;
    await captureContractItems(near);
    assert.deepEqual(recorded, [{ transactionId: idOf(1), status: 'Succeeded' }]);
    assert.equal(sentIds[1], `${sentIds[0]}:1`);
  });

  it('uses an identifier that no client can send, of at most 64 characters', async () => {
    const { captureContractItems, named: sentIds } = batchOf(1, () => 'Succeeded');
    await captureContractItems(near);
    const [name = ''] = sentIds;
    assert.ok(name.length > 0 && `${name}:9999`.length <= 64, name);
    assert.doesNotMatch(name, /^[A-Za-z0-9._:-]+$/);
  });

  it('that waits for a retry is not sent again and does not block later items', async () => {
    let isSilent = true;
    const { captureContractItems, recorded, tried } = batchOf(80, (id) =>
      isSilent && Number(id.slice(-3)) < 60 ? 'Pending' : 'Succeeded',
    );
    await captureContractItems(near);
    const first = tried.length;
    assert.ok(first < 40, 'a silent host is not sent the rest');
    isSilent = false;
    assert.ok(Number((await captureContractItems(near))?.retryAt) > 1_000_000);
    assert.equal(new Set(tried).size, tried.length);
    assert.equal(recorded.length, 40 - first);
  });
});

describe('a capture batch over several contracts', () => {
  it('has one job for each contract', async () => {
    const { startContractJobs, enqueued } = batchOf(2500, () => 'Succeeded');
    const again = await startContractJobs();
    assert.equal(again?.countAttempt, false);
    assert.ok(enqueued.every(({ kind }) => kind === batchCaptureContractJob));
    assert.equal(new Set(enqueued.map(({ jobId }) => jobId)).size, 2);
    assert.deepEqual(enqueued[0]?.payload['batchId'], batchId);
  });

  // Spec: CARD-41
  it('reschedules only the items of an unavailable link', async () => {
    const { startContractJobs, captureContractItems, down, recorded } = batchOf(
      1200,
      () => 'Succeeded',
    );
    down.add(far);
    const [first, later] = [await captureContractItems(far), await captureContractItems(far, 4)];
    assert.ok(Number(later?.retryAt) > Number(first?.retryAt), 'with growing pauses');
    assert.equal(await captureContractItems(near), undefined);
    assert.equal(recorded.length, 600);
    down.clear();
    assert.equal(await captureContractItems(far), undefined);
    assert.equal(recorded.length, 1200);
    assert.equal(await startContractJobs(), undefined);
  });

  it('captures the later sales of a contract that moved from an unavailable link', async () => {
    const linkOf = (transactionId: string) => (transactionId <= idOf(1200) ? far : near);
    const { captureContractItems, down, recorded } = batchOf(1500, () => 'Succeeded', {
      contractId: near,
      linkOf,
    });
    down.add(far);
    assert.ok(await captureContractItems(near));
    assert.equal(recorded.length, 0);
    assert.ok(await captureContractItems(near));
    assert.equal(recorded.length, 300);
    down.clear();
    assert.equal(await captureContractItems(near), undefined);
    assert.equal(recorded.length, 1500);
  });

  it('is reported as running until its job ends', async () => {
    const { captureContractItems, isCapturing } = batchOf(5, () => 'Succeeded');
    assert.equal(isCapturing(), false);
    const run = captureContractItems(near);
    assert.equal(isCapturing(), true);
    await run;
    assert.equal(isCapturing(), false);
  });
});
