import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { wasApprovedAtHost } from '../transaction/approval-evidence.ts';
import { noAmounts, type Phase } from '../transaction/state-machine.ts';
import {
  type Change,
  type LoadedTransaction,
  outcomeOf,
  type SaleFacts,
} from '../transaction/transaction.ts';
import { type Intent, settleSale } from './authorize-sale.ts';

const facts = {
  kind: 'Sale',
  linkId: 'link',
  timeZone: 'UTC',
  partialApproval: false,
  card: { token: 't' },
} as unknown as SaleFacts;

function transaction(phase: Phase, version = 1): LoadedTransaction {
  return {
    row: {
      organizationId: 'o',
      transactionId: 't',
      amount: 100,
      position: { ...noAmounts, phase },
      state: phase,
      version,
      operationCount: 0,
      deadline: 15_000,
    },
    events: [{ sequence: 1, type: 'transaction.received', at: '', data: { facts } }],
    operations: [],
  } as unknown as LoadedTransaction;
}

/** A room whose store takes what it is told to, over a standing transaction. */
function room(of: { now: number; outcome: AcquirerOutcome; standing?: LoadedTransaction }) {
  const sent: string[] = [];
  const made: Change[] = [];
  const noted: unknown[] = [];
  const lost = of.standing === undefined ? 0 : 1;
  let commits = 0;
  const deps = {
    clock: { now: () => of.now },
    ids: { uuid: () => 'id' },
    acquirerTimeoutMs: 10_000,
    failPoints: { hit() {} },
    running: { changed() {} },
    jobs: { poke() {} },
    log: { debug: (of: unknown) => noted.push(of) },
    acquiring: {
      send: async () => {
        sent.push('sale');
        return of.outcome;
      },
      nextReference: async () => ({ mti: '0420' }),
    },
    store: {
      commit: async (change: Change) => {
        commits += 1;
        if (commits <= lost) return false;
        made.push(change);
        return true;
      },
      findById: async () => of.standing,
    },
  } as unknown as PaymentsDeps;
  return { deps, sent, made, noted };
}

const intent: Intent = {
  request: { amount: 100, currency: 'EUR', entryMode: 'Keyed' },
  card: { pan: '4111111111111111', expiry: '3012' },
  facts,
  loaded: transaction('Received'),
} as unknown as Intent;

const declinedBy = (responseCode: string): AcquirerOutcome => ({
  outcome: 'Declined',
  responseCode,
});
const approved: AcquirerOutcome = { outcome: 'Approved', responseCode: '00', amount: 100 };

test('an outcome is made durable in one change', async () => {
  const { deps, sent, made } = room({ now: 100, outcome: approved });
  const settled = await settleSale(deps, intent);
  assert.equal(settled.row.state, 'Captured');
  assert.deepEqual(sent, ['sale']);
  assert.equal(made.length, 1);
});

test('a process that was stopped for too long sends nothing', async () => {
  const { deps, sent, made, noted } = room({ now: 60_000, outcome: approved });
  const settled = await settleSale(deps, intent);
  assert.equal(settled.row.state, 'Failed');
  assert.deepEqual(sent, []);
  assert.equal(made[0]?.event.type, 'transaction.failed');
  assert.equal(made[0]?.event.data.reason, 'AcquirerUnavailable');
  assert.deepEqual(noted, [{ transactionId: 't', reason: 'too late to send' }]);
});

test('an approval behind a reversal that has ended is reversed once more', async () => {
  const { deps, made } = room({
    now: 100,
    outcome: approved,
    standing: transaction('Reversed', 3),
  });
  const settled = await settleSale(deps, intent);
  assert.equal(settled.row.state, 'Reversing');
  assert.equal(made[0]?.event.data.reason, 'ApprovedAfterReversal');
  assert.equal(made[0]?.job?.kind, 'payments.repeat');
});

test('what may be booked yet behind a reversal that has ended is reversed once more, a decline is not', async () => {
  const ends = { '09': 'Reversing', '68': 'Reversing', '26': 'Reversing', '94': 'Reversing' };
  const unknown = { '16': 'Reversing', ZZ: 'Reversing', '400': 'Reversing' };
  for (const [responseCode, state] of Object.entries({ ...ends, ...unknown, '05': 'Reversed' })) {
    const { deps, made } = room({
      now: 100,
      outcome: { outcome: 'Declined', responseCode },
      standing: transaction('Reversed', 3),
    });
    assert.equal((await settleSale(deps, intent)).row.state, state, responseCode);
    // Nobody has approved it: a host that never had it may say so.
    assert.equal(made[0]?.operation?.details.approvedAtHost, undefined);
  }
});

test('a reversal that is still queued stands, and the host cannot deny an approval that it meets', async () => {
  const standing = transaction('Reversing', 2);
  const { deps, made } = room({ now: 100, outcome: approved, standing });
  const settled = await settleSale(deps, intent);
  assert.deepEqual([settled.row.state, made.length], ['Reversing', 1]);
  const { type, data } = made[0]?.event ?? {};
  assert.deepEqual(
    [type, data?.reason, data?.response],
    ['transaction.late_response', 'Sale', { code: '00' }],
  );
  assert.ok(wasApprovedAtHost(settled));
  for (const outcome of [{ outcome: 'Unknown', reason: 'Timeout' } as const, declinedBy('05')]) {
    const other = room({ now: 100, outcome, standing });
    assert.equal(await settleSale(other.deps, intent), standing);
    assert.equal(other.made.length, 0);
  }
});

test('a host that takes the sale for a duplicate, is not done with it, or says what nobody knows, is not believed: it is reversed', async () => {
  const reasons = { '94': 'Duplicate', '26': 'Duplicate', '09': 'Undecided', '68': 'Undecided' };
  const unknown = { '16': 'Undecided', '32': 'Undecided', ZZ: 'Undecided', '400': 'Undecided' };
  for (const [responseCode, reason] of Object.entries({ ...reasons, ...unknown })) {
    const outcome: AcquirerOutcome = { outcome: 'Declined', responseCode };
    const { deps, made } = room({ now: 100, outcome });
    const settled = await settleSale(deps, intent);
    assert.equal(settled.row.state, 'Reversing', responseCode);
    assert.equal(made.length, 1);
    const { event, operation, job } = made[0] ?? {};
    assert.deepEqual([operation?.kind, job?.kind], ['Reversal', 'payments.repeat']);
    assert.deepEqual([event?.data.reason, event?.data.response?.code], [reason, responseCode]);
  }
});

test('a host that has judged, or could not work, is believed: nothing is reversed', async () => {
  for (const responseCode of ['05', '51', '90', '91', '92', '96']) {
    const outcome: AcquirerOutcome = { outcome: 'Declined', responseCode };
    const { deps, made } = room({ now: 100, outcome });
    assert.equal((await settleSale(deps, intent)).row.state, 'Declined', responseCode);
    assert.equal(made[0]?.operation, undefined);
  }
});

test('what the issuer says to the chip beside a code that nobody knows is told with the reversal', async () => {
  const issuer = { issuerData: '71099F180400000001', addressResult: 'N' };
  const { deps, made } = room({ now: 100, outcome: { ...declinedBy('ZZ'), ...issuer } });
  assert.equal((await settleSale(deps, intent)).row.state, 'Reversing');
  const { issuerData, addressResult } = made[0]?.event.data ?? {};
  assert.deepEqual({ issuerData, addressResult }, issuer);
});

test('an acquirer that says beside its code that it refuses is believed', async () => {
  const outcome: AcquirerOutcome = { outcome: 'Declined', responseCode: 'ZZ', isPlain: true };
  const { deps, made } = room({ now: 100, outcome });
  assert.equal((await settleSale(deps, intent)).row.state, 'Declined');
  assert.equal(made[0]?.operation, undefined);
});

test('a part that nobody wants is taken back under the code that the host gave it', async () => {
  const outcome: AcquirerOutcome = {
    outcome: 'Approved',
    responseCode: '10',
    amount: 60,
    authorizationCode: 'A1B2C3',
  };
  const { deps, made } = room({ now: 100, outcome });
  const settled = await settleSale(deps, intent);
  assert.equal(settled.row.state, 'Reversing');
  assert.equal(made[0]?.event.data.reason, 'PartialApproval');
  assert.equal(outcomeOf(settled)?.authorizationCode, 'A1B2C3');
});
