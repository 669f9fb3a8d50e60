// Whole run: much is made, or waited for, before it shows.
// Sales that a terminal approved offline: the server sends them until the acquirer responds, or
// reverses them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertProblem } from '../../support/assert-problem-response.ts';
import { chipData } from '../../support/card-data/chip-data.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import {
  call,
  createOrganizationBehindRelay,
  eventTypesOf,
  originalsOf,
  type RequestFields,
  waitForState,
} from '../../support/payment-calls.ts';
import { until } from '../../support/wait-for-result.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';
import { offlineSale, takeLinkDown, uploadStored } from './offline-uploads.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();

/** A morning of summer time in Paris within the last year, and its day as YYMMDD. */
function lastSummer(): [at: string, day: string] {
  const now = new Date();
  const year = now.getUTCMonth() < 7 ? now.getUTCFullYear() - 1 : now.getUTCFullYear();
  const date = now.getUTCMonth() < 7 ? `${year}-09-01` : `${year}-07-01`;
  return [`${date}T10:20:30.000Z`, date.slice(2).replaceAll('-', '')];
}

describe('offline sales', { concurrency: 8 }, () => {
  // Spec: SVC-15 CARDF-5 PAY-4
  test('an offline sale is stored, sent to the acquirer unchanged, and captured', async (t) => {
    const setup = await createOrganizationBehindRelay(t, createOrganization, {
      offlineLimits: { maxAgeHours: 8760, maxCount: 10 },
    });
    const [authorizedAt, day] = lastSummer();
    const pan = '5413330089010012';
    const emvData = chipData(pan, { '9F27': '40', '9A': day });
    const sale = await uploadStored(
      setup,
      { authorizedAt },
      { entryMode: 'ContactChip', instrument: { emvData } },
    );
    assert.deepEqual([sale.state, sale.answeredState, sale.approved], ['Stored', 'Stored', false]);
    assert.equal(sale.terminalAction, undefined);
    assert.equal(sale.offlineTransaction, true);
    assert.equal(sale.offlineData.authorizedAt, authorizedAt);
    assert.equal(sale.authorizationCode, '9A01B2');
    const captured = await waitForState(setup, sale.transactionId, 'Captured');
    assert.deepEqual(eventTypesOf(captured), ['stored', 'sent', 'captured']);
    assert.deepEqual([captured.answeredState, captured.capturedAmount], ['Stored', 1234]);
    assert.equal(captured.receipt.merchant.at, authorizedAt);
    assert.equal(captured.receipt.merchant.operation, 'Sale');
    const [advice, ...more] = setup.relay.sent;
    assert.equal(more.length, 0);
    const { mti, fields } = advice ?? { mti: '', fields: {} };
    assert.equal(mti, '0220');
    assert.deepEqual([fields[38], fields[39]], ['9A01B2', '00']);
    assert.deepEqual([fields[12], fields[13]], ['122030', day.slice(2)]);
    assert.match(fields[55] ?? '', /9F270140/);
    assert.ok(!fields[55]?.includes(pan));
    assert.deepEqual([fields[35], fields[48], fields[52], fields[90]], Array(4).fill(undefined));
    const [original] = originalsOf(setup, captured.retrievalReferenceNumber);
    assert.deepEqual([original?.captured, original?.approval], [1234, '9A01B2']);
    const database = await testDatabase();
    await until(async () => {
      const [row] = await database.query<{ chip_data: Buffer | null }>(
        'SELECT chip_data FROM offline_uploads WHERE organization_id = $1 AND transaction_id = $2',
        [setup.organizationId, sale.transactionId],
      );
      return row?.chip_data === null ? true : undefined;
    }, 'the chip data to be forgotten');
    const refund = await call(setup, 'POST', `/${sale.transactionId}/refund`, { amount: 234 });
    assert.equal(refund.body.refundedAmount, 234, refund.text);
  });

  test('chip data is stored encrypted until it is sent, track data and security code are not stored', async (t) => {
    const setup = await createOrganizationBehindRelay(t, createOrganization);
    await takeLinkDown(setup);
    const emvData = chipData('5413330089010012', { '9F27': '40' });
    const chip = await uploadStored(
      setup,
      {},
      { entryMode: 'ContactChip', instrument: { emvData } },
    );
    const card = { number: '4111111111111111', expiryMonth: 12, expiryYear: 2030 };
    const keyed = { instrument: { card: { ...card, securityCode: '737' } } };
    const typed = await uploadStored(setup, { terminalSequence: 2 }, keyed);
    const track2 = ';4012888888881881=30121010000000000?';
    const swiped = { entryMode: 'MagStripe', instrument: { track2 } };
    const stripe = await uploadStored(setup, { terminalSequence: 3 }, swiped);
    const database = await testDatabase();
    const rows = await database.query<{ chip: string | null }>(
      `SELECT encode(chip_data, 'hex') AS chip FROM offline_uploads
        WHERE organization_id = $1 ORDER BY terminal_sequence`,
      [setup.organizationId],
    );
    assert.equal(rows.length, 3);
    assert.ok(rows[0]?.chip && !rows[0].chip.includes('9f270140'));
    assert.deepEqual([rows[1]?.chip, rows[2]?.chip], [null, null]);
    await setup.relay.startListening();
    for (const { transactionId } of [chip, typed, stripe]) {
      await waitForState(setup, transactionId, 'Captured');
    }
    assert.equal(setup.relay.sent.length, 3);
    for (const { fields } of setup.relay.sent) {
      assert.deepEqual([fields[35], fields[48], fields[52]], Array(3).fill(undefined));
    }
  });

  // Spec: CARD-13
  test('a late decline is visible, and a replay returns it', async () => {
    const setup = await createOrganization();
    const body = offlineSale(setup, {}, { amount: 9051 });
    const first = await call(setup, 'POST', '/process', body);
    assert.equal(first.body.state, 'Stored', first.text);
    const declined = await waitForState(setup, first.body.transactionId, 'Declined');
    assert.deepEqual(eventTypesOf(declined), ['stored', 'sent', 'declined']);
    assert.deepEqual([declined.answeredState, declined.approved], ['Stored', false]);
    assert.equal(declined.response.code, '51');
    assert.equal(declined.terminalAction, 'Decline');
    const again = await call(setup, 'POST', '/process', body);
    assert.deepEqual([again.status, again.body.state], [200, 'Declined']);
    assert.equal(again.headers['idempotent-replayed'], 'true');
  });

  for (const [hostBehaviour, amount, repeats] of [
    ['never answers', 9091, 1],
    ['answers late', 9092, 1],
    ['hangs up', 9093, 1],
    ['answers twice', 9094, 0],
    ['answers garbage', 9095, 1],
  ] as const) {
    test(`a host that ${hostBehaviour} books the sale once, after repeats with the same numbers`, async (t) => {
      const setup = await createOrganizationBehindRelay(t, createOrganization);
      const sale = await uploadStored(setup, {}, { amount });
      const captured = await waitForState(setup, sale.transactionId, 'Captured');
      assert.equal(captured.capturedAmount, amount);
      const [original, ...others] = originalsOf(setup, captured.retrievalReferenceNumber);
      assert.deepEqual([original?.captured, others.length], [amount, 0]);
      const numbers = setup.relay.sent.map(({ mti, fields }) => [
        mti,
        ...[7, 11, 12, 13, 37, 38, 41].map((field) => fields[field]),
      ]);
      assert.ok(numbers.length > repeats, String(numbers.length));
      numbers.forEach(([mti, ...rest], index) => {
        assert.equal(mti, index === 0 ? '0220' : '0221');
        assert.deepEqual(rest, numbers[0]?.slice(1));
      });
    });
  }

  test('a temporary malfunction of the host is not a decline', async (t) => {
    const setup = await createOrganizationBehindRelay(t, createOrganization);
    const sale = await uploadStored(setup, {}, { amount: 9096 });
    await until(() => (setup.relay.sent.length >= 2 ? true : undefined), 'a second advice');
    const { body } = await call(setup, 'GET', `/${sale.transactionId}`);
    assert.equal(body.state, 'Stored');
    const cancel = await call(setup, 'POST', `/${sale.transactionId}/cancel`, {
      cancelReason: 'Technical',
    });
    assert.equal(cancel.status, 202, cancel.text);
    await waitForState(setup, sale.transactionId, 'Reversed');
  });

  test('an upload waits for an unavailable link, and a client can wait for the response', async (t) => {
    const setup = await createOrganizationBehindRelay(t, createOrganization);
    await takeLinkDown(setup);
    const sale = await uploadStored(setup);
    const response = call(setup, 'GET', `/${sale.transactionId}?wait=20`);
    await setup.relay.startListening();
    await waitForState(setup, sale.transactionId, 'Captured');
    const { body } = await response;
    assert.notEqual(body.updatedAt, sale.updatedAt);
    assert.equal(originalsOf(setup, sale.retrievalReferenceNumber).length, 1);
  });
});

describe('reversals of offline sales', { concurrency: 8 }, () => {
  for (const [cancelReason, state, kind] of [
    ['Functional', 'Cancelled', 'Cancel'],
    ['Technical', 'Reversed', 'Reversal'],
  ] as const) {
    test(`${cancelReason} before the sale is sent: the acquirer gets no message`, async (t) => {
      const setup = await createOrganizationBehindRelay(t, createOrganization);
      await takeLinkDown(setup);
      const { transactionId: id } = await uploadStored(setup);
      const allowed = (await call(setup, 'GET', `/${id}/allowedoperations`)).body.operations;
      const allowedByOperation = Object.fromEntries(
        allowed.map((each: RequestFields) => [
          each['operation'],
          each['reason'] ?? each['maxAmount'],
        ]),
      );
      assert.deepEqual(allowedByOperation, {
        Capture: 'not_authorized',
        Refund: 'not_captured',
        Cancel: 1234,
        Reversal: 1234,
      });
      const part = await call(setup, 'POST', `/${id}/cancel`, { cancelReason, amount: 1 });
      const code =
        kind === 'Cancel' ? 'partial_cancel_not_supported' : 'partial_reversal_not_supported';
      assertProblem(part, { code });
      const more = await call(setup, 'POST', `/${id}/cancel`, { cancelReason, amount: 1235 });
      const exceeded = kind === 'Cancel' ? 'cancel_amount_exceeded' : code;
      assertProblem(more, { code: exceeded, pointer: '/amount' });
      const done = await call(setup, 'POST', `/${id}/cancel`, { cancelReason });
      assert.equal(done.status, 200, done.text);
      assert.equal(done.body.state, state);
      assert.deepEqual([done.body.operation.kind, done.body.operation.status], [kind, 'Succeeded']);
      await setup.relay.startListening();
      const database = await testDatabase();
      await until(
        async () => {
          const jobs = await database.query(
            "SELECT 1 FROM jobs WHERE organization_id = $1 AND kind = 'payments.submit-offline-sale'",
            [setup.organizationId],
          );
          return jobs.length === 0 ? true : undefined;
        },
        'the job to end',
        60_000,
      );
      assert.deepEqual(setup.relay.sent, []);
      assert.deepEqual(originalsOf(setup, done.body.retrievalReferenceNumber), []);
    });
  }

  // Spec: CARD-14
  test('after a message may have been sent, the reversal waits for it and no amount remains', async (t) => {
    const setup = await createOrganizationBehindRelay(t, createOrganization);
    const { transactionId: id } = await uploadStored(setup, {}, { amount: 9091 });
    await until(() => (setup.relay.sent.length > 0 ? true : undefined), 'the advice');
    const voided = await call(setup, 'POST', `/${id}/cancel`, { cancelReason: 'Functional' });
    assertProblem(voided, { code: 'transaction_in_progress' });
    const refund = await call(setup, 'POST', `/${id}/refund`);
    assertProblem(refund, { code: 'transaction_in_progress' });
    const reversed = await call(setup, 'POST', `/${id}/cancel`, { cancelReason: 'Technical' });
    assert.deepEqual([reversed.status, reversed.body.state], [202, 'Reversing'], reversed.text);
    const now = await waitForState(setup, id, 'Reversed');
    const [original] = originalsOf(setup, now.retrievalReferenceNumber);
    assert.deepEqual([original?.held, original?.captured], [0, 0]);
    const reversal = setup.relay.sent.find(({ mti }) => mti === '0420');
    assert.equal(reversal?.fields[90]?.slice(0, 10), `0220${now.systemTraceAuditNumber}`);
  });
});

test('the ledgers of platform and host agree', assertLedgersAgree);
