// Whole run: many refused requests; other files test the accepted ones.
// Offline sales that the server refuses: limits, members, times, and chips that did not approve.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { assertProblem, countRows } from '../../support/assert-problem-response.ts';
import { chipData } from '../../support/card-data/chip-data.ts';
import { call, type RequestFields } from '../../support/payment-calls.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';
import {
  hourMs,
  listMissingNumbers,
  offlineData,
  offlineSale,
  timeAgo,
  upload,
  uploadStored,
} from './offline-uploads.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();

describe('refused offline sales', { concurrency: 4 }, () => {
  // Spec: PROV-60
  test('limits of amount, currency, age and count apply; replays are answered regardless', async () => {
    const offlineLimits = { maxAmounts: { EUR: 2000 }, maxAgeHours: 24, maxCount: 2 };
    const setup = await createOrganization({ offlineLimits });
    const before = await countRows(setup.organizationId);
    const above = await upload(setup, {}, { amount: 2001 });
    assertProblem(above, { code: 'offline_limit_exceeded', pointer: '/amount' });
    assert.equal(above.body.maxAmount, 2000);
    const dollars = await upload(setup, {}, { currency: 'USD', amount: 1 });
    assertProblem(dollars, { code: 'offline_limit_exceeded', pointer: '/amount' });
    const old = await upload(setup, { authorizedAt: timeAgo(25 * hourMs) });
    assertProblem(old, { code: 'offline_too_old', pointer: '/offlineData/authorizedAt' });
    assert.deepEqual(await countRows(setup.organizationId), before);
    const body = offlineSale(setup, { authorizedAt: timeAgo(2 * hourMs) });
    const first = await call(setup, 'POST', '/process', body);
    assert.equal(first.body.state, 'Stored', first.text);
    await uploadStored(setup, { terminalSequence: 2 });
    const third = await upload(setup, { terminalSequence: 3 });
    const pointer = '/offlineData/terminalSequence';
    assertProblem(third, { code: 'offline_limit_exceeded', pointer });
    assert.deepEqual(await listMissingNumbers(setup), [], 'what was refused was not counted');
    const { organizationId, merchant } = setup;
    await setup.platform.provisioning.acquirerContracts.change(
      { organizationId },
      merchant.contractId,
      undefined,
      async () => ({ offline_limits: { maxAmounts: { EUR: 1 }, maxAgeHours: 1, maxCount: 0 } }),
    );
    const again = await call(setup, 'POST', '/process', body);
    assert.equal(again.body.transactionId, first.body.transactionId, again.text);
    const renamed = await call(setup, 'POST', '/process', {
      ...body,
      clientTransactionId: randomUUID(),
    });
    assertProblem(renamed, { code: 'offline_sale_already_uploaded', outcome: 'Processed' });
    assert.equal(renamed.body.transaction.transactionId, first.body.transactionId);
    const tooSmall = await upload(
      setup,
      { authorizedAt: timeAgo(1000), terminalSequence: 4 },
      { amount: 1 },
    );
    assertProblem(tooSmall, { code: 'offline_limit_exceeded', pointer });
  });

  // Spec: PROV-60
  test('the count limit applies to every span of 24 hours, at any order of uploads', async () => {
    const offlineLimits = { maxAgeHours: 72, maxCount: 2 };
    for (const hours of [
      [3, 2, 1],
      [1, 2, 3],
      [1, 3, 2],
      [1, 20, 10],
    ]) {
      const setup = await createOrganization({ offlineLimits });
      const sold = (hoursAgo: number | undefined, terminalSequence: number) =>
        upload(setup, { authorizedAt: timeAgo((hoursAgo ?? 0) * hourMs), terminalSequence });
      assert.equal((await sold(hours[0], 1)).body.state, 'Stored');
      assert.equal((await sold(hours[1], 2)).body.state, 'Stored');
      const third = await sold(hours[2], 3);
      assert.equal(third.body.code, 'offline_limit_exceeded', JSON.stringify(hours));
      assert.equal((await sold(30, 3)).body.state, 'Stored', JSON.stringify(hours));
    }
    const setup = await createOrganization({ offlineLimits });
    for (const [at, hoursAgo] of [1, 30, 31, 60].entries()) {
      const authorizedAt = timeAgo(hoursAgo * hourMs);
      const { body, text } = await upload(setup, { authorizedAt, terminalSequence: at + 1 });
      assert.equal(body.state, 'Stored', text);
    }
  });

  // Spec: CARD-9
  test('missing, invalid and outdated members are refused', async () => {
    const setup = await createOrganization();
    const before = await countRows(setup.organizationId);
    const wrong: [RequestFields, string, string][] = [
      [{ offlineData: undefined }, 'field_required', '/offlineData'],
      [{ offlineTransaction: false }, 'field_invalid', '/offlineData'],
      [{ offlineTransaction: undefined }, 'field_invalid', '/offlineData'],
      [{ offlineTransaction: 'true' }, 'field_invalid', '/offlineTransaction'],
      [{ captureMode: 'Deferred' }, 'field_invalid', '/captureMode'],
      [{ partialApproval: true }, 'field_invalid', '/partialApproval'],
      [{ confirmWithinSeconds: 30 }, 'field_invalid', '/confirmWithinSeconds'],
      [{ stepUpOf: 'another' }, 'field_invalid', '/stepUpOf'],
      [
        { orderChannel: 'MailOrder', zipCode: '12345', houseNumber: '1' },
        'field_invalid',
        '/orderChannel',
      ],
      [{ offlineData: offlineData({ surplus: 1 }) }, 'field_unknown', '/offlineData/surplus'],
    ];
    const data: [RequestFields, string][] = [
      [{ authorizedAt: undefined }, 'authorizedAt'],
      [{ authorizedAt: 'yesterday' }, 'authorizedAt'],
      [{ authorizedAt: new Date(Date.now() + hourMs).toISOString() }, 'authorizedAt'],
      [{ authorizationCode: undefined }, 'authorizationCode'],
      [{ authorizationCode: '1234567' }, 'authorizationCode'],
      [{ authorizationCode: '' }, 'authorizationCode'],
      [{ terminalSequence: undefined }, 'terminalSequence'],
      [{ terminalSequence: -1 }, 'terminalSequence'],
      [{ terminalSequence: 100_000_000 }, 'terminalSequence'],
      [{ terminalSequence: '1' }, 'terminalSequence'],
      [{ reason: 'Because' }, 'reason'],
      [{ reason: undefined }, 'reason'],
      [{ serialNumber: 'no-dash' }, 'serialNumber'],
    ];
    for (const [members, code, pointer] of wrong) {
      const answer = await upload(setup, {}, members);
      assert.equal(answer.body.code, code, answer.text);
      assert.equal(answer.body.errors[0].pointer, pointer, answer.text);
    }
    for (const [members, name] of data) {
      const answer = await upload(setup, members);
      assert.match(answer.body.code, /^field_(?:invalid|required)$/, answer.text);
      assert.equal(answer.body.errors[0].pointer, `/offlineData/${name}`, answer.text);
    }
    assert.deepEqual(await countRows(setup.organizationId), before);
  });

  test('the expiry date is compared with the time of the sale, notAfter with the current time', async () => {
    const setup = await createOrganization({ offlineLimits: { maxAgeHours: 8760, maxCount: 100 } });
    const expired = (expiryYear: number) => ({
      instrument: { card: { number: '4111111111111111', expiryMonth: 1, expiryYear } },
    });
    const year = new Date().getUTCFullYear();
    const late = await upload(setup, {}, expired(year - 1));
    assertProblem(late, { code: 'card_expired_input', pointer: '/instrument' });
    const monthsAgo = new Date(Date.now() - 300 * 24 * hourMs);
    const card = {
      number: '4111111111111111',
      expiryMonth: monthsAgo.getUTCMonth() + 1,
      expiryYear: monthsAgo.getUTCFullYear(),
    };
    const then = { authorizedAt: monthsAgo.toISOString() };
    const good = await uploadStored(setup, then, { instrument: { card } });
    assert.equal(good.state, 'Stored');
    const body = offlineSale(setup, { terminalSequence: 2 }, { notAfter: timeAgo(1) });
    assertProblem(await call(setup, 'POST', '/process', body), { code: 'too_late' });
    const soon = new Date(Date.now() + 30_000).toISOString();
    await uploadStored(setup, { terminalSequence: 2 }, { notAfter: soon });
  });

  test('a sale that the chip did not approve offline is refused', async () => {
    const setup = await createOrganization();
    for (const cryptogram of ['80', '00', undefined]) {
      const emvData = chipData('5413330089010012', { '9F27': cryptogram });
      const answer = await upload(setup, {}, { entryMode: 'ContactChip', instrument: { emvData } });
      assertProblem(answer, { code: 'emv_data_mismatch', pointer: '/instrument/emvData' });
    }
    const emvData = chipData('5413330089010012', { '9F27': '40' });
    await uploadStored(setup, {}, { entryMode: 'ContactlessChip', instrument: { emvData } });
  });

  test('a sale that the contract does not allow is refused', async () => {
    const setup = await createOrganization({
      captureModes: ['Deferred'],
      defaultCaptureMode: 'Deferred',
    });
    assertProblem(await upload(setup), { code: 'capture_mode_not_supported' });
    const closed = await createOrganization({ clearCardData: 'Refused' });
    assertProblem(await upload(closed), { code: 'clear_card_data_refused' });
    const other = await createOrganization({ currencies: ['EUR'] });
    const yen = await upload(other, {}, { currency: 'JPY' });
    assertProblem(yen, { code: 'currency_not_supported', pointer: '/currency' });
  });
});

test('the ledgers of platform and host agree', assertLedgersAgree);
