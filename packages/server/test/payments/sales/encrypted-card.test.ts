// Card data that the device encrypted, and contracts that require it.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { chipData } from '../../support/card-data/chip-data.ts';
import {
  createEncryptingDevice,
  type EncryptingDevice,
} from '../../support/card-data/encrypting-device.ts';
import type { HttpResponse } from '../../support/https-client.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import type { TestOrganization } from '../../support/test-organization.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();
const path = '/payment/v1/transactions/process';

const number = '4761739001010119';
const track2 = `${number}=30121010000012345`;
const typed = { number, expiryMonth: 12, expiryYear: 2030, securityCode: '737' };
const ofCard = { instrument: { card: typed } };

describe('encrypted card data', () => {
  let setup: TestOrganization;
  let tdes: EncryptingDevice;
  let aes: EncryptingDevice;

  before(async () => {
    setup = await createOrganization({
      clearCardData: 'Refused',
      captureModes: ['Immediate', 'Deferred'],
    });
    tdes = createEncryptingDevice(setup.settings.dataDir, 'DukptTdes');
    aes = createEncryptingDevice(setup.settings.dataDir, 'DukptAes');
  });

  const send = (members: Record<string, unknown>): Promise<HttpResponse> =>
    setup.client.call('POST', path, { token: setup.merchant.token, body: keyedSale(members) });

  async function refused(members: Record<string, unknown>, code: string): Promise<HttpResponse> {
    const answer = await send(members);
    assert.equal(answer.status, 422, answer.text);
    assert.equal(answer.body.code, code, answer.text);
    return answer;
  }

  // Spec: CARD-24
  test('a contract without clear card data refuses it in every entry mode', async () => {
    await refused(ofCard, 'clear_card_data_refused');
    const chip = { entryMode: 'ContactChip', instrument: { emvData: chipData(number) } };
    await refused(chip, 'clear_card_data_refused');
    const swiped = { entryMode: 'MagStripe', instrument: { track2 } };
    await refused(swiped, 'clear_card_data_refused');
  });

  test('a contract without clear card data refuses clear data that is sent with encrypted data', async () => {
    const clearChip = chipData(number);
    const chipWithoutNumber = chipData(number, { '57': undefined });
    const encryptedTrack = tdes.encrypted('Track2', Buffer.from(track2));
    const encryptedChip = tdes.encrypted('Emv', Buffer.from(chipWithoutNumber, 'hex'));
    const chip = (instrument: object) => ({ entryMode: 'ContactChip', instrument });
    await refused(chip({ track2, ...encryptedChip }), 'clear_card_data_refused');
    await refused(chip({ emvData: clearChip, ...encryptedTrack }), 'clear_card_data_refused');
    const answer = await send(chip({ emvData: chipWithoutNumber, ...encryptedTrack }));
    assert.equal(answer.body.state, 'Captured', answer.text);
  });

  // Spec: CARD-23
  test('encrypted data of either scheme and padding is accepted, and tokens are too', async () => {
    const emv = Buffer.from(chipData(number), 'hex');
    const tokens = new Set<string>();
    for (const device of [tdes, aes]) {
      for (const padding of ['00', '80'] as const) {
        for (const [entryMode, instrument] of [
          ['Keyed', device.encrypted('Card', Buffer.from(JSON.stringify(typed)), padding)],
          ['MagStripe', device.encrypted('Track2', Buffer.from(track2), padding)],
          ['ContactChip', device.encrypted('Emv', emv, padding)],
          ['ContactlessChip', device.encrypted('Emv', emv, padding)],
        ] as const) {
          const answer = await send({ entryMode, instrument });
          assert.equal(answer.status, 200, `${entryMode} ${padding}: ${answer.text}`);
          assert.equal(answer.body.state, 'Captured');
          assert.equal(answer.body.entryMode, entryMode);
          assert.equal(answer.body.card.maskedNumber, '476173******0119');
          tokens.add(answer.body.card.token);
        }
      }
    }
    assert.equal(tokens.size, 1, 'one card is one token, however it came');
    const again = await send({ instrument: { token: [...tokens][0] } });
    assert.equal(again.body.state, 'Captured', again.text);
  });

  test('the same sale with a new encryption is a replay; another card is not', async () => {
    const body = keyedSale({ entryMode: 'MagStripe', instrument: undefined });
    const swipe = (track: string) => ({
      ...body,
      instrument: tdes.encrypted('Track2', Buffer.from(track)),
    });
    const call = (each: Record<string, unknown>) =>
      setup.client.call('POST', path, { token: setup.merchant.token, body: each });
    const first = await call(swipe(track2));
    const second = await call(swipe(track2));
    assert.equal(second.body.transactionId, first.body.transactionId, second.text);
    const other = await call(swipe(track2.replace(number, '4111111111111111')));
    assert.equal(other.body.code, 'client_id_reused', other.text);
  });

  test('the decrypted content must match the entry mode', async () => {
    const stripe = () => tdes.encrypted('Track2', Buffer.from(track2));
    for (const entryMode of ['Keyed', 'ContactChip', 'ContactlessChip']) {
      await refused({ entryMode, instrument: stripe() }, 'entry_mode_invalid');
    }
    const bothInstruments = { ...stripe(), ...ofCard.instrument };
    await refused({ entryMode: 'MagStripe', instrument: bothInstruments }, 'instrument_invalid');
    const chipCard = tdes.encrypted('Track2', Buffer.from(track2.replace('=30121', '=30122')));
    await refused({ entryMode: 'MagStripe', instrument: chipCard }, 'entry_mode_invalid');
  });

  test('every fault of the data has the same response', async () => {
    const good = tdes.encrypted('Track2', Buffer.from(track2)).encrypted;
    const otherKsn = tdes.nextKsn();
    const wrong = [
      { ...good, ksn: otherKsn },
      { ...good, data: `${'00'.repeat(8)}${good['data']}` },
      tdes.encrypted('Track2', Buffer.from('no track')).encrypted,
      tdes.encrypted('Track2', Buffer.from(track2.replace('4761', '4762'))).encrypted,
    ];
    const answers = new Set<string>();
    for (const encrypted of wrong) {
      const members = { entryMode: 'MagStripe', instrument: { encrypted } };
      const { body } = await refused(members, 'encrypted_data_invalid');
      answers.add(JSON.stringify([body.detail, body.errors]));
    }
    assert.equal(answers.size, 1);
    for (const text of ['{}', '{"number":"1"}', 'x', '']) {
      const instrument = tdes.encrypted('Card', Buffer.from(text.padEnd(8)));
      await refused({ instrument }, 'encrypted_data_invalid');
    }
    const emv = tdes.encrypted('Emv', Buffer.from('5A08411111', 'hex'));
    await refused({ entryMode: 'ContactChip', instrument: emv }, 'encrypted_data_invalid');
  });

  test('a missing key and a scheme that does not fit the serial number are refused', async () => {
    const { encrypted } = tdes.encrypted('Track2', Buffer.from(track2));
    const unknown = { ...encrypted, keyId: 'no-such-key' };
    const swiped = (each: Record<string, string>) => ({
      entryMode: 'MagStripe',
      instrument: { encrypted: each },
    });
    await refused(swiped(unknown), 'encryption_key_unknown');
    await refused(swiped({ ...encrypted, scheme: 'DukptAes' }), 'field_invalid');
    await refused(swiped({ ...encrypted, data: '00' }), 'encrypted_data_invalid');
  });
});

test('the ledgers of platform and host agree', assertLedgersAgree);
