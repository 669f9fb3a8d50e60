import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dueClockOf } from '../../../test/support/movable-clock.ts';
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import type { Job } from '../../platform/index.ts';
import { createRetryDriver, type RetryPorts } from '../runtime/send-queued-message.ts';
import { deriveState, type Phase, zeroAmounts } from '../transaction/state-machine.ts';
import { alertAfterAttempts } from '../transaction/time-limits.ts';
import type { TransactionChange, TransactionRecord } from '../transaction/transaction.ts';
import { createOfflineSubmission, type OfflineSubmissionPorts } from './submit-offline-sale.ts';

const job = (attempts = 0) =>
  ({
    organizationId: 'o',
    jobId: 'j',
    queueId: 'link',
    attempts,
    payload: { transactionId: 't' },
  }) as unknown as Job;

const context = {
  kind: 'OfflineSale',
  linkId: 'link',
  timeZone: 'UTC',
  request: {},
  reference: { mti: '0220' },
  card: { token: 'token' },
  offline: { authorizationCode: '9A01B2', authorizedAt: '2026-03-01T11:00:00.000Z' },
};

function transaction(phase: Phase): TransactionRecord {
  const position = { ...zeroAmounts, phase };
  return {
    row: {
      organizationId: 'o',
      transactionId: 't',
      merchantId: 'm',
      amount: 100,
      version: 1,
      position,
      state: deriveState(position),
      operationCount: 0,
      deadline: 0,
    },
    events: [{ sequence: 1, type: 'transaction.stored', at: '', data: { context } }],
    operations: [],
  } as unknown as TransactionRecord;
}

const approved: AcquirerOutcome = { outcome: 'Approved', responseCode: '00', amount: 100 };

/** One stored sale; `phaseDuringSend` is set by another process during the send. */
function setUp(input: {
  phase: Phase;
  outcome?: AcquirerOutcome;
  phaseDuringSend?: Phase;
  delayMs?: number;
  available?: boolean;
  isBlocked?: boolean;
}) {
  let current = transaction(input.phase);
  let now = 1_000_000;
  const changes: TransactionChange[] = [];
  const sent: { repeat: boolean }[] = [];
  let forgotten = 0;
  let alarms = 0;
  const ports = {
    linkQueue: { isBlocked: async () => input.isBlocked ?? false },
    clock: { now: () => now },
    dueClock: dueClockOf({ now: () => now }),
    ids: { uuid: () => 'id' },
    acquirerTimeoutMs: 10_000,
    failPoints: { hit() {} },
    inFlightTransactions: { notifyChange() {} },
    jobs: { wake() {} },
    log: { error: () => (alarms += 1) },
    vault: {
      async detokenizeCard() {
        now += input.delayMs ?? 0;
        return { pan: '4111111111111111', expiry: '3012' };
      },
    },
    offlineStore: {
      chipData: async () => undefined,
      async forgetChipData() {
        forgotten += 1;
      },
    },
    acquiring: {
      isLinkAvailable: () => input.available ?? true,
      allocateReference: async () => ({ mti: '0420' }),
      async send(request: { repeat: boolean }) {
        sent.push(request);
        if (input.phaseDuringSend !== undefined) {
          const other = transaction(input.phaseDuringSend);
          current = { ...other, row: { ...other.row, version: current.row.version + 1 } };
        }
        return input.outcome ?? approved;
      },
    },
    transactions: {
      findById: async () => current,
      async update(change: TransactionChange) {
        if (change.before.version !== current.row.version) return false;
        changes.push(change);
        const events = [...current.events, change.event];
        current = { ...current, row: change.after, events };
        return true;
      },
    },
  } as unknown as OfflineSubmissionPorts & RetryPorts;
  const submit = createRetryDriver(ports, createOfflineSubmission(ports));
  return {
    submit,
    changes,
    sent,
    alarms: () => alarms,
    forgotten: () => forgotten,
    state: () => current.row.state,
  };
}

const typesOf = (changes: readonly TransactionChange[]) =>
  changes.map(({ event }) => event.type.replace('transaction.', ''));

test('a sale is marked as submitted before the send and captured by the approval', async () => {
  const { submit, changes, sent, forgotten } = setUp({ phase: 'Stored' });
  assert.equal(await submit(job()), undefined);
  assert.deepEqual(typesOf(changes), ['sent', 'captured']);
  assert.deepEqual(
    sent.map(({ repeat }) => repeat),
    [false],
  );
  assert.equal(forgotten(), 1);
});

test('a sale that may have been sent is repeated, and a duplicate response captures it', async () => {
  for (const [phase, state, again] of [
    ['Submitted', 'Captured', false],
    ['Stored', 'Stored', true],
  ] as const) {
    const outcome = { outcome: 'Declined', responseCode: '94' } as const;
    const { submit, sent, state: now } = setUp({ phase, outcome });
    const later = await submit(job());
    assert.equal(sent[0]?.repeat, phase === 'Submitted');
    assert.equal(now(), state);
    assert.equal(later !== undefined, again);
  }
});

// Spec: ACQ-10
test('a duplicate response to the first advice does not capture the sale', async () => {
  const outcome = { outcome: 'Declined', responseCode: '94' } as const;
  const { submit, sent, state, alarms, forgotten } = setUp({ phase: 'Stored', outcome });
  for (const attempts of [0, 1, 2]) {
    assert.equal((await submit(job(attempts)))?.countAttempt, undefined);
    assert.equal(state(), 'Stored');
  }
  assert.deepEqual([sent.length, alarms(), forgotten()], [3, 1, 0]);
});

test('an unavailable link, a blocked queue and an unsent message do not count as attempts', async () => {
  for (const input of [
    { available: false },
    { isBlocked: true },
    { outcome: { outcome: 'NotSent', reason: 'gone' } as const },
  ]) {
    const later = await setUp({ phase: 'Stored', ...input }).submit(job());
    assert.equal(later?.countAttempt, false, JSON.stringify(input));
  }
});

test('a missing response is retried and blocks the link queue', async () => {
  const outcome = { outcome: 'Unknown', reason: 'Timeout' } as const;
  const { submit, state } = setUp({ phase: 'Submitted', outcome });
  const later = await submit(job());
  assert.deepEqual([later?.note, later?.countAttempt], ['Unanswered', undefined]);
  assert.equal(state(), 'Stored');
});

test('a host error never decides the sale', async () => {
  for (const responseCode of ['06', '09', '19', '68', '90', '91', '92', '96', '16']) {
    for (const attempts of [0, alertAfterAttempts - 1, 9, 1000]) {
      const outcome = { outcome: 'Declined', responseCode } as const;
      const { submit, state, forgotten } = setUp({ phase: 'Submitted', outcome });
      const later = await submit(job(attempts));
      assert.deepEqual([state(), forgotten()], ['Stored', 0], `${responseCode} at ${attempts}`);
      assert.deepEqual(
        [later?.note, later?.countAttempt],
        [undefined, undefined],
        'the link queue is not blocked',
      );
    }
  }
  const judged = { outcome: 'Declined', responseCode: '51' } as const;
  const declined = setUp({ phase: 'Submitted', outcome: judged });
  assert.equal(await declined.submit(job(9)), undefined);
  assert.equal(declined.state(), 'Declined');
  const cured = setUp({ phase: 'Submitted', outcome: approved });
  assert.equal(await cured.submit(job(10)), undefined);
  assert.equal(cured.state(), 'Captured');
});

test('a voided sale is not sent, also not by a paused process', async () => {
  for (const phase of ['Cancelled', 'Reversed', 'Reversing', 'Declined'] as const) {
    const { submit, sent, forgotten } = setUp({ phase });
    assert.equal(await submit(job()), undefined);
    assert.deepEqual([sent.length, forgotten()], [0, 1], phase);
  }
  const stopped = setUp({ phase: 'Stored', delayMs: 60_000 });
  assert.equal((await stopped.submit(job()))?.countAttempt, false);
  assert.deepEqual(stopped.sent, []);
});

test('a sale that is voided during the send is reversed at the host', async () => {
  const queued = setUp({ phase: 'Submitted', phaseDuringSend: 'Reversing' });
  assert.equal(await queued.submit(job()), undefined);
  assert.equal(queued.state(), 'Reversing');
  assert.deepEqual(typesOf(queued.changes), ['late_response']);
  // The host has approved the sale, so the reversal is retried until the host accepts it.
  assert.equal(queued.changes[0]?.event.data.reason, 'OfflineSale');
  const silent = { outcome: 'Unknown', reason: 'Timeout' } as const;
  const unknown = setUp({ phase: 'Submitted', phaseDuringSend: 'Reversing', outcome: silent });
  await unknown.submit(job());
  assert.deepEqual(unknown.changes, []);
  const open = ['09', '68', '26', '94'].map(
    (responseCode): AcquirerOutcome => ({ outcome: 'Declined', responseCode }),
  );
  for (const outcome of [approved, { outcome: 'Unknown', reason: 'Timeout' } as const, ...open]) {
    const ended = setUp({ phase: 'Submitted', phaseDuringSend: 'Reversed', outcome });
    assert.equal(await ended.submit(job()), undefined);
    assert.equal(ended.state(), 'Reversing', JSON.stringify(outcome));
    assert.equal(ended.changes[0]?.event.data.reason, 'ApprovedAfterReversal');
  }
  const declined = { outcome: 'Declined', responseCode: '51' } as const;
  const nothing = setUp({ phase: 'Submitted', phaseDuringSend: 'Reversed', outcome: declined });
  await nothing.submit(job());
  assert.equal(nothing.state(), 'Reversed');
});

test('a partial approval captures the approved amount', async () => {
  const outcome = { outcome: 'Approved', responseCode: '10', amount: 40 } as const;
  const { submit, changes } = setUp({ phase: 'Submitted', outcome });
  await submit(job());
  const { authorized, captured } = changes[0]?.after.position ?? {};
  assert.deepEqual([authorized, captured], [40, 40]);
});
