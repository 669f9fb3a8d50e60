import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import type { Job } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { deriveState, type Phase, zeroAmounts } from '../transaction/state-machine.ts';
import { alertAfterAttempts } from '../transaction/timeouts.ts';
import type { TransactionChange, TransactionRecord } from '../transaction/transaction.ts';
import { createOfflineSubmission } from './submit-offline-sale.ts';

const job = (attempts = 0) =>
  ({
    organizationId: 'o',
    jobId: 'j',
    lane: 'link',
    attempts,
    payload: { transactionId: 't' },
  }) as unknown as Job;

const facts = {
  kind: 'OfflineSale',
  linkId: 'link',
  timeZone: 'UTC',
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
    events: [{ sequence: 1, type: 'transaction.stored', at: '', data: { facts } }],
    operations: [],
  } as unknown as TransactionRecord;
}

const approved: AcquirerOutcome = { outcome: 'Approved', responseCode: '00', amount: 100 };

/** A room that holds one sale; `meanwhile` happens while the acquirer is asked. */
function room(of: {
  phase: Phase;
  outcome?: AcquirerOutcome;
  meanwhile?: Phase;
  heldMs?: number;
  available?: boolean;
  held?: boolean;
}) {
  let standing = transaction(of.phase);
  let now = 1_000_000;
  const made: TransactionChange[] = [];
  const sent: { repeat: boolean }[] = [];
  let forgotten = 0;
  let alarms = 0;
  const deps = {
    clock: { now: () => now },
    ids: { uuid: () => 'id' },
    acquirerTimeoutMs: 10_000,
    failPoints: { hit() {} },
    running: { changed() {} },
    jobs: { poke() {} },
    log: { error: () => (alarms += 1) },
    vault: {
      async reveal() {
        now += of.heldMs ?? 0;
        return { pan: '4111111111111111', expiry: '3012' };
      },
    },
    offline: {
      chipData: async () => undefined,
      async forgetChipData() {
        forgotten += 1;
      },
    },
    acquiring: {
      available: () => of.available ?? true,
      nextReference: async () => ({ mti: '0420' }),
      async send(request: { repeat: boolean }) {
        sent.push(request);
        if (of.meanwhile !== undefined) {
          const other = transaction(of.meanwhile);
          standing = { ...other, row: { ...other.row, version: standing.row.version + 1 } };
        }
        return of.outcome ?? approved;
      },
    },
    store: {
      findById: async () => standing,
      async commit(change: TransactionChange) {
        if (change.before.version !== standing.row.version) return false;
        made.push(change);
        const events = [...standing.events, change.event];
        standing = { ...standing, row: change.after, events };
        return true;
      },
    },
  } as unknown as PaymentsDeps;
  const tell = createOfflineSubmission(deps, { isBlocked: async () => of.held ?? false });
  return {
    tell,
    made,
    sent,
    alarms: () => alarms,
    forgotten: () => forgotten,
    state: () => standing.row.state,
  };
}

const typesOf = (made: readonly TransactionChange[]) =>
  made.map(({ event }) => event.type.replace('transaction.', ''));

test('a sale is marked as submitted before the send and captured by the approval', async () => {
  const { tell, made, sent, forgotten } = room({ phase: 'Stored' });
  assert.equal(await tell(job()), undefined);
  assert.deepEqual(typesOf(made), ['sent', 'captured']);
  assert.deepEqual(
    sent.map(({ repeat }) => repeat),
    [false],
  );
  assert.equal(forgotten(), 1);
});

test('a sale that may have been sent is repeated, and a duplicate response captures it', async () => {
  for (const [phase, state, again] of [
    ['Sending', 'Captured', false],
    ['Stored', 'Stored', true],
  ] as const) {
    const outcome = { outcome: 'Declined', responseCode: '94' } as const;
    const { tell, sent, state: now } = room({ phase, outcome });
    const later = await tell(job());
    assert.equal(sent[0]?.repeat, phase === 'Sending');
    assert.equal(now(), state);
    assert.equal(later !== undefined, again);
  }
});

test('a duplicate response to the first advice does not capture the sale', async () => {
  const outcome = { outcome: 'Declined', responseCode: '94' } as const;
  const { tell, sent, state, alarms, forgotten } = room({ phase: 'Stored', outcome });
  for (const attempts of [0, 1, 2]) {
    assert.equal((await tell(job(attempts)))?.untried, undefined);
    assert.equal(state(), 'Stored');
  }
  assert.deepEqual([sent.length, alarms(), forgotten()], [3, 1, 0]);
});

test('an unavailable link, a blocked queue and an unsent message do not count as attempts', async () => {
  for (const of of [
    { available: false },
    { held: true },
    { outcome: { outcome: 'NotSent', reason: 'gone' } as const },
  ]) {
    const later = await room({ phase: 'Stored', ...of }).tell(job());
    assert.equal(later?.untried, true, JSON.stringify(of));
  }
});

test('a missing response is retried and blocks the link queue', async () => {
  const outcome = { outcome: 'Unknown', reason: 'Timeout' } as const;
  const { tell, state } = room({ phase: 'Sending', outcome });
  const later = await tell(job());
  assert.deepEqual([later?.note, later?.untried], ['Unanswered', undefined]);
  assert.equal(state(), 'Stored');
});

test('a host error never decides the sale', async () => {
  for (const responseCode of ['06', '09', '19', '68', '90', '91', '92', '96', '16']) {
    for (const attempts of [0, alertAfterAttempts - 1, 9, 1000]) {
      const outcome = { outcome: 'Declined', responseCode } as const;
      const { tell, state, forgotten } = room({ phase: 'Sending', outcome });
      const later = await tell(job(attempts));
      assert.deepEqual([state(), forgotten()], ['Stored', 0], `${responseCode} at ${attempts}`);
      assert.deepEqual([later?.note, later?.untried], [undefined, undefined], 'it holds up nobody');
    }
  }
  const judged = { outcome: 'Declined', responseCode: '51' } as const;
  const declined = room({ phase: 'Sending', outcome: judged });
  assert.equal(await declined.tell(job(9)), undefined);
  assert.equal(declined.state(), 'Declined');
  const cured = room({ phase: 'Sending', outcome: approved });
  assert.equal(await cured.tell(job(10)), undefined);
  assert.equal(cured.state(), 'Captured');
});

test('a voided sale is not sent, also not by a paused process', async () => {
  for (const phase of ['Cancelled', 'Reversed', 'Reversing', 'Declined'] as const) {
    const { tell, sent, forgotten } = room({ phase });
    assert.equal(await tell(job()), undefined);
    assert.deepEqual([sent.length, forgotten()], [0, 1], phase);
  }
  const stopped = room({ phase: 'Stored', heldMs: 60_000 });
  assert.equal((await stopped.tell(job()))?.untried, true);
  assert.deepEqual(stopped.sent, []);
});

test('a sale that is voided during the send is reversed at the host', async () => {
  const queued = room({ phase: 'Sending', meanwhile: 'Reversing' });
  assert.equal(await queued.tell(job()), undefined);
  assert.equal(queued.state(), 'Reversing');
  assert.deepEqual(typesOf(queued.made), ['late_response']);
  // What the host has approved it cannot deny: its reversal goes on until it is taken.
  assert.equal(queued.made[0]?.event.data.reason, 'OfflineSale');
  const silent = { outcome: 'Unknown', reason: 'Timeout' } as const;
  const unknown = room({ phase: 'Sending', meanwhile: 'Reversing', outcome: silent });
  await unknown.tell(job());
  assert.deepEqual(unknown.made, []);
  const open = ['09', '68', '26', '94'].map(
    (responseCode): AcquirerOutcome => ({ outcome: 'Declined', responseCode }),
  );
  for (const outcome of [approved, { outcome: 'Unknown', reason: 'Timeout' } as const, ...open]) {
    const ended = room({ phase: 'Sending', meanwhile: 'Reversed', outcome });
    assert.equal(await ended.tell(job()), undefined);
    assert.equal(ended.state(), 'Reversing', JSON.stringify(outcome));
    assert.equal(ended.made[0]?.event.data.reason, 'ApprovedAfterReversal');
  }
  const declined = { outcome: 'Declined', responseCode: '51' } as const;
  const nothing = room({ phase: 'Sending', meanwhile: 'Reversed', outcome: declined });
  await nothing.tell(job());
  assert.equal(nothing.state(), 'Reversed');
});

test('a partial approval captures the approved amount', async () => {
  const outcome = { outcome: 'Approved', responseCode: '10', amount: 40 } as const;
  const { tell, made } = room({ phase: 'Sending', outcome });
  await tell(job());
  const { authorized, captured } = made[0]?.after.position ?? {};
  assert.deepEqual([authorized, captured], [40, 40]);
});
