import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dueClockOf } from '../../../test/support/movable-clock.ts';
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import { unguardedNumbering } from '../../platform/index.ts';
import { type Phase, zeroAmounts } from '../transaction/state-machine.ts';
import {
  type AuthorizationContext,
  saleOutcome,
  type TransactionChange,
  type TransactionRecord,
  wasApprovedAtHost,
} from '../transaction/transaction.ts';
import { type AuthorizePorts, authorizeSale } from './authorize-sale.ts';
import type { SaleIntent } from './create-sale-intent.ts';

const context = {
  kind: 'Sale',
  linkId: 'link',
  timeZone: 'UTC',
  request: {},
  partialApproval: false,
  card: { token: 't' },
} as unknown as AuthorizationContext;

function transaction(phase: Phase, version = 1): TransactionRecord {
  return {
    row: {
      organizationId: 'o',
      transactionId: 't',
      amount: 100,
      position: { ...zeroAmounts, phase },
      state: phase,
      version,
      operationCount: 0,
      deadline: 15_000,
    },
    events: [{ sequence: 1, type: 'transaction.received', at: '', data: { context } }],
    operations: [],
  } as unknown as TransactionRecord;
}

/** @param of.stored the transaction as another process has changed it */
function setUp(options: { now: number; outcome: AcquirerOutcome; stored?: TransactionRecord }) {
  const sent: string[] = [];
  const made: TransactionChange[] = [];
  const noted: unknown[] = [];
  const lost = options.stored === undefined ? 0 : 1;
  let commits = 0;
  const ports = {
    clock: { now: () => options.now },
    dueClock: dueClockOf({ now: () => options.now }),
    ids: { uuid: () => 'id' },
    acquirerTimeoutMs: 10_000,
    failPoints: { hit() {} },
    numbering: unguardedNumbering,
    inFlightTransactions: { notifyChange() {} },
    jobs: { wake() {} },
    log: { debug: (options: unknown) => noted.push(options) },
    acquiring: {
      send: async () => {
        sent.push('sale');
        return options.outcome;
      },
      allocateReference: async () => ({ mti: '0420' }),
    },
    transactions: {
      update: async (change: TransactionChange) => {
        commits += 1;
        if (commits <= lost) return false;
        made.push(change);
        return true;
      },
      findById: async () => options.stored,
    },
  } as unknown as AuthorizePorts;
  return { ports, sent, made, noted };
}

const intent: SaleIntent = {
  request: { amount: 100, currency: 'EUR', entryMode: 'Keyed' },
  card: { pan: '4111111111111111', expiry: '3012' },
  context,
  failoverContracts: [],
  transaction: transaction('Received'),
} as unknown as SaleIntent;

const declinedBy = (responseCode: string): AcquirerOutcome => ({
  outcome: 'Declined',
  responseCode,
});
const approved: AcquirerOutcome = { outcome: 'Approved', responseCode: '00', amount: 100 };

test('an outcome is stored in one update', async () => {
  const { ports, sent, made } = setUp({ now: 100, outcome: approved });
  const settled = await authorizeSale(ports, intent);
  assert.equal(settled.row.state, 'Captured');
  assert.deepEqual(sent, ['sale']);
  assert.equal(made.length, 1);
});

test('a process that was paused past the send deadline sends nothing', async () => {
  const { ports, sent, made, noted } = setUp({ now: 60_000, outcome: approved });
  const settled = await authorizeSale(ports, intent);
  assert.equal(settled.row.state, 'Failed');
  assert.deepEqual(sent, []);
  assert.equal(made[0]?.event.type, 'transaction.failed');
  assert.equal(made[0]?.event.data.reason, 'AcquirerUnavailable');
  assert.deepEqual(noted, [{ transactionId: 't', reason: 'send deadline has passed' }]);
});

test('an approval after a finished reversal is reversed once more', async () => {
  const { ports, made } = setUp({
    now: 100,
    outcome: approved,
    stored: transaction('Reversed', 3),
  });
  const settled = await authorizeSale(ports, intent);
  assert.equal(settled.row.state, 'Reversing');
  assert.equal(made[0]?.event.data.reason, 'ApprovedAfterReversal');
  assert.equal(made[0]?.job?.kind, 'payments.retry-operation');
});

test('an indeterminate outcome after a finished reversal is reversed once more, a decline is not', async () => {
  const ends = { '09': 'Reversing', '68': 'Reversing', '26': 'Reversing', '94': 'Reversing' };
  const unknown = { '16': 'Reversing', ZZ: 'Reversing', '400': 'Reversing' };
  for (const [responseCode, state] of Object.entries({ ...ends, ...unknown, '05': 'Reversed' })) {
    const { ports, made } = setUp({
      now: 100,
      outcome: { outcome: 'Declined', responseCode },
      stored: transaction('Reversed', 3),
    });
    assert.equal((await authorizeSale(ports, intent)).row.state, state, responseCode);
    // The host did not approve the sale, so it may answer that it does not know it.
    assert.equal(made[0]?.operation?.details.approvedAtHost, undefined);
  }
});

test('a queued reversal stays and records the approval', async () => {
  const stored = transaction('Reversing', 2);
  const { ports, made } = setUp({ now: 100, outcome: approved, stored });
  const settled = await authorizeSale(ports, intent);
  assert.deepEqual([settled.row.state, made.length], ['Reversing', 1]);
  const { type, data } = made[0]?.event ?? {};
  assert.deepEqual(
    [type, data?.reason, data?.response],
    ['transaction.late_response', 'Sale', { code: '00' }],
  );
  assert.ok(wasApprovedAtHost(settled));
  for (const outcome of [{ outcome: 'Unknown', reason: 'Timeout' } as const, declinedBy('05')]) {
    const other = setUp({ now: 100, outcome, stored });
    assert.equal(await authorizeSale(other.ports, intent), stored);
    assert.equal(other.made.length, 0);
  }
});

test('a duplicate, in-progress or unknown response code causes a reversal', async () => {
  const reasons = { '94': 'Duplicate', '26': 'Duplicate', '09': 'Undecided', '68': 'Undecided' };
  const unknown = { '16': 'Undecided', '32': 'Undecided', ZZ: 'Undecided', '400': 'Undecided' };
  for (const [responseCode, reason] of Object.entries({ ...reasons, ...unknown })) {
    const outcome: AcquirerOutcome = { outcome: 'Declined', responseCode };
    const { ports, made } = setUp({ now: 100, outcome });
    const settled = await authorizeSale(ports, intent);
    assert.equal(settled.row.state, 'Reversing', responseCode);
    assert.equal(made.length, 1);
    const { event, operation, job } = made[0] ?? {};
    assert.deepEqual([operation?.kind, job?.kind], ['Reversal', 'payments.retry-operation']);
    assert.deepEqual([event?.data.reason, event?.data.response?.code], [reason, responseCode]);
  }
});

test('a decline or a host error causes no reversal', async () => {
  for (const responseCode of ['05', '51', '90', '91', '92', '96']) {
    const outcome: AcquirerOutcome = { outcome: 'Declined', responseCode };
    const { ports, made } = setUp({ now: 100, outcome });
    assert.equal((await authorizeSale(ports, intent)).row.state, 'Declined', responseCode);
    assert.equal(made[0]?.operation, undefined);
  }
});

test('a sale with an unknown response code is reversed, and its event contains the issuer data', async () => {
  const issuer = { issuerData: '71099F180400000001', addressResult: 'N' };
  const { ports, made } = setUp({ now: 100, outcome: { ...declinedBy('ZZ'), ...issuer } });
  assert.equal((await authorizeSale(ports, intent)).row.state, 'Reversing');
  const { issuerData, avsResultCode } = made[0]?.event.data ?? {};
  assert.deepEqual([issuerData, avsResultCode], ['71099F180400000001', 'N']);
});

test('the server treats an unknown response code with an explicit decline as a decline', async () => {
  const outcome: AcquirerOutcome = {
    outcome: 'Declined',
    responseCode: 'ZZ',
    isExplicitDecline: true,
  };
  const { ports, made } = setUp({ now: 100, outcome });
  assert.equal((await authorizeSale(ports, intent)).row.state, 'Declined');
  assert.equal(made[0]?.operation, undefined);
});

test('an unwanted partial approval is reversed with its authorization code', async () => {
  const outcome: AcquirerOutcome = {
    outcome: 'Approved',
    responseCode: '10',
    amount: 60,
    authorizationCode: 'A1B2C3',
  };
  const { ports, made } = setUp({ now: 100, outcome });
  const settled = await authorizeSale(ports, intent);
  assert.equal(settled.row.state, 'Reversing');
  assert.equal(made[0]?.event.data.reason, 'PartialApproval');
  assert.equal(saleOutcome(settled)?.authorizationCode, 'A1B2C3');
});
