// Chip data without a card number: the terminal sends track 2 in addition.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertProblem } from '../../support/assert-problem-response.ts';
import { chipData } from '../../support/card-data/chip-data.ts';
import { createEncryptingDevice } from '../../support/card-data/encrypting-device.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { call, createOrganizationBehindRelay, waitForState } from '../../support/payment-calls.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';
import { hourMs, timeAgo, uploadStored } from '../offline/offline-uploads.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();

const pan = '5413330089010012';
const track2 = `;${pan}=30122010000000000?`;
const emvData = chipData(pan, { '57': undefined, '9A': undefined });
const chipSale = (instrument: object) => keyedSale({ entryMode: 'ContactChip', instrument });

describe('chip data without tags 57 and 5A', { concurrency: 4 }, () => {
  // Spec: CARD-20
  test('chip data without a card number is accepted with track2', async (t) => {
    const setup = await createOrganizationBehindRelay(t, createOrganization);
    const body = chipSale({ emvData, track2 });
    const answer = await call(setup, 'POST', '/process', body);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.state, 'Captured');
    assert.equal(answer.body.card.maskedNumber, '541333******0012');
    const fields = setup.relay.sent[0]?.fields ?? {};
    assert.deepEqual([fields[35], fields[23]], [`${pan}=30122010000000000`, '001']);
    assert.match(fields[55] ?? '', /9F26081122334455667788/);
    const again = await call(setup, 'POST', '/process', body);
    assert.equal(again.headers['idempotent-replayed'], 'true');
  });

  test('chip data is accepted with track2 if either of them is encrypted', async (t) => {
    const setup = await createOrganizationBehindRelay(t, createOrganization);
    const device = createEncryptingDevice(setup.settings.dataDir, 'DukptTdes');
    for (const instrument of [
      { emvData, ...device.encrypted('Track2', Buffer.from(track2)) },
      { track2, ...device.encrypted('Emv', Buffer.from(emvData, 'hex')) },
    ]) {
      const answer = await call(setup, 'POST', '/process', chipSale(instrument));
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.body.card.maskedNumber, '541333******0012');
      const fields = setup.relay.sent.at(-1)?.fields ?? {};
      assert.equal(fields[35], `${pan}=30122010000000000`);
      assert.match(fields[55] ?? '', /9F26081122334455667788/);
    }
    assert.equal(setup.relay.sent.length, 2);
  });

  // Spec: CARD-20
  test('an offline upload of chip data is accepted with track2', async (t) => {
    const setup = await createOrganizationBehindRelay(t, createOrganization);
    const offline = chipData(pan, { '57': undefined, '9A': undefined, '9F27': '40' });
    const members = { entryMode: 'ContactChip', instrument: { emvData: offline, track2 } };
    const { transactionId } = await uploadStored(setup, { authorizedAt: timeAgo(hourMs) }, members);
    await waitForState(setup, transactionId, 'Captured');
    const fields = setup.relay.sent[0]?.fields ?? {};
    assert.match(fields[55] ?? '', /9F270140/);
    assert.equal(fields[35], undefined);
  });

  test('chip data is refused without track2, with track2 of another card, or with another card', async () => {
    const setup = await createOrganization();
    const other = ';4111111111111111=30122010000000000?';
    const chipWithPan = chipData(pan);
    const card = { number: pan, expiryMonth: 12, expiryYear: 2030 };
    for (const [instrument, code] of [
      [{ emvData }, 'emv_data_invalid'],
      [{ emvData: chipWithPan, track2: other }, 'emv_data_mismatch'],
      [{ emvData, track2: ';541333=3012?' }, 'track_data_invalid'],
      [{ emvData, card }, 'instrument_invalid'],
      [{ emvData, track2, card }, 'instrument_invalid'],
    ] as const) {
      assertProblem(await call(setup, 'POST', '/process', chipSale(instrument)), { code });
    }
    const magstripe = { ...chipSale({ emvData, track2 }), entryMode: 'MagStripe' };
    assertProblem(await call(setup, 'POST', '/process', magstripe), { code: 'entry_mode_invalid' });
  });
});

test('the ledgers of platform and host agree', assertLedgersAgree);
