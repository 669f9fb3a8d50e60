import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AcquirerOutcome } from '../acquiring/index.ts';
import type { Job } from '../platform/index.ts';
import type { PaymentsDeps } from './deps.ts';
import type { Change, LoadedTransaction } from './model.ts';
import { settleOperation } from './operation.ts';
import { createRepeats } from './pending.ts';
import { noAmounts } from './state.ts';
import { after } from './step.ts';

const duplicate: AcquirerOutcome = { outcome: 'Declined', responseCode: '94' };
const silence: AcquirerOutcome = { outcome: 'Unknown', reason: 'Timeout' };
const approval: AcquirerOutcome = { outcome: 'Approved', responseCode: '00', amount: 60 };

function captured(): LoadedTransaction {
  const position = { ...noAmounts, phase: 'Approved', authorized: 100, captured: 100 } as const;
  const facts = { linkId: 'link', timeZone: 'UTC', card: {} };
  return {
    row: {
      ...{ organizationId: 'o', transactionId: 't', merchantId: 'm', amount: 100, version: 1 },
      ...{ position: { ...position, refundReserved: 60 }, operationCount: 1, deadline: 0 },
    },
    events: [{ sequence: 1, type: 'transaction.received', at: '', data: { facts } }],
    operations: [{ kind: 'Refund', status: 'Sent', amount: 60, number: 1, details: {} }],
  } as unknown as LoadedTransaction;
}

/** A refund that was sent, and the answers of its host in their order. */
function refund() {
  let standing = captured();
  const alarms: unknown[] = [];
  const jobs: Change['job'][] = [];
  let next: AcquirerOutcome = silence;
  const deps = {
    clock: { now: () => 1_000_000 },
    ids: { uuid: () => 'id' },
    acquirerTimeoutMs: 10_000,
    failPoints: { hit() {} },
    running: { changed() {} },
    log: { error: (of: unknown) => alarms.push(of) },
    vault: { reveal: async () => ({ pan: '', expiry: '' }) },
    acquiring: { available: () => true, send: async () => next },
    store: {
      findById: async () => standing,
      async commit(change: Change) {
        if (change.before.version !== standing.row.version) return false;
        if (change.job !== undefined) jobs.push(change.job);
        standing = after(standing, change);
        return true;
      },
    },
  } as unknown as PaymentsDeps;
  const repeat = createRepeats(deps, { isHeld: async () => false });
  return {
    alarms,
    jobs,
    answered: (outcome: AcquirerOutcome) => settleOperation(deps, standing, 1, outcome),
    async repeated(outcome: AcquirerOutcome, attempts = 0) {
      next = outcome;
      const { payload } = jobs[0] ?? {};
      return repeat({ organizationId: 'o', jobId: 'j', lane: 'l', attempts, payload } as Job);
    },
    status: () => standing.operations[0]?.status,
    refunded: () => standing.row.position.refunded,
  };
}

describe('numbers that the host has had', () => {
  it('are no proof where it had them before the first message: it stays open, with an alarm', async () => {
    const { alarms, jobs, answered, repeated, status, refunded } = refund();
    await answered(duplicate);
    assert.deepEqual([status(), jobs.length, alarms.length], ['Pending', 1, 1]);
    for (const attempts of [0, 1, 2]) {
      assert.ok(await repeated(duplicate, attempts), 'is asked again');
      assert.deepEqual([status(), refunded()], ['Pending', 0]);
    }
    // Nor after a silence: the numbers are the other message's all the same.
    await repeated(silence, 3);
    await repeated(duplicate, 5);
    assert.deepEqual([status(), alarms.length], ['Pending', 2]);
    assert.equal(await repeated(approval, 6), undefined);
    assert.deepEqual([status(), refunded()], ['Succeeded', 60]);
  });

  it('are ours where the first message was left without an answer', async () => {
    const { answered, repeated, status, refunded, alarms } = refund();
    await answered(silence);
    assert.equal(status(), 'Pending');
    assert.equal(await repeated(duplicate), undefined);
    assert.deepEqual([status(), refunded(), alarms], ['Succeeded', 60, []]);
  });

  it('are noted also where the jobs table has the operation already, which keeps its one job', async () => {
    const { answered, repeated, status, jobs } = refund();
    await answered(silence);
    await answered(duplicate);
    await repeated(duplicate);
    assert.deepEqual([status(), jobs.length], ['Pending', 1]);
  });
});
