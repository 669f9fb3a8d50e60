// Whole run: many refused requests; other files test the accepted ones.
// Card data that a device encrypted is valid for one sale; the server refuses a replay.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type AcquirerHost, startAcquirerHost } from '@switchyard/simulators';
import { createKsnCleanup, createKsnStore } from '../../../src/payments/card-input/ksn-sql.ts';
import { demoKeys } from '../../../src/vault/index.ts';
import { assertProblem } from '../../support/assert-problem-response.ts';
import { chipData } from '../../support/card-data/chip-data.ts';
import {
  createEncryptingDevice,
  type DukptScheme,
  type EncryptingDevice,
} from '../../support/card-data/encrypting-device.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import type { HttpResponse } from '../../support/https-client.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { testPlatform, testTimeoutMs } from '../../support/test-platform.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';
import { hourMs, offlineData, timeAgo } from '../offline/offline-uploads.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();
const path = '/payment/v1/transactions/process';
const number = '4761739001010119';
const track2 = `${number}=30121010000012345`;
const pointer = '/instrument/encrypted/ksn';
type Members = Record<string, unknown>;

describe('encrypted card data', () => {
  let setup: TestOrganization;
  before(async () => {
    setup = await createOrganization({ clearCardData: 'Refused' });
  });

  const device = (scheme: DukptScheme = 'DukptTdes') =>
    createEncryptingDevice(setup.settings.dataDir, scheme);
  const swiped = (encryptingDevice: EncryptingDevice, track = track2) => ({
    entryMode: 'MagStripe',
    instrument: encryptingDevice.encrypted('Track2', Buffer.from(track)),
  });
  const send = (members: Members, token = setup.merchant.token): Promise<HttpResponse> =>
    setup.client.call('POST', path, { token, body: keyedSale(members) });

  async function sold(members: Members): Promise<HttpResponse['body']> {
    const { status, body, text } = await send(members);
    assert.deepEqual([status, body.state], [200, 'Captured'], text);
    return body;
  }

  for (const scheme of ['DukptTdes', 'DukptAes'] as const) {
    test(`encrypted data is accepted for one sale, and never after a later counter of its device: ${scheme}`, async () => {
      const encryptingDevice = device(scheme);
      const early = swiped(encryptingDevice);
      const one = swiped(encryptingDevice);
      const first = await sold(one);
      for (const stale of [one, { ...one, amount: 5000 }, early]) {
        assertProblem(await send(stale), { code: 'ksn_reused', pointer });
      }
      assert.notEqual((await sold(swiped(encryptingDevice))).transactionId, first.transactionId);
    });
  }

  // Spec: CARD-5
  test('encrypted data can be sent again with its own sale, also after other sales', async () => {
    const encryptingDevice = device();
    const clientTransactionId = randomUUID();
    const one = { ...swiped(encryptingDevice), clientTransactionId };
    const first = await sold(one);
    await sold(swiped(encryptingDevice));
    for (const again of [await send(one), await send({ ...one, ...swiped(encryptingDevice) })]) {
      assert.equal(again.body.transactionId, first.transactionId, again.text);
      assert.equal(again.headers['idempotent-replayed'], 'true');
    }
    const other = await send({ ...one, amount: 4321 });
    assertProblem(other, { code: 'client_id_reused', pointer: '/amount' });
  });

  test('a missing key does not answer “NotProcessed” if a sale with the identifier exists', async () => {
    const one = { ...swiped(device()), clientTransactionId: randomUUID() };
    const { encrypted } = one.instrument;
    const keyless = { ...one, instrument: { encrypted: { ...encrypted, keyId: 'was-retired' } } };
    assertProblem(await send(keyless), { code: 'encryption_key_unknown', outcome: 'NotProcessed' });
    const first = await sold(one);
    const again = await send(keyless);
    assertProblem(again, { code: 'encryption_key_unknown', outcome: 'Unknown' });
    const { transactionId, state } = first;
    const { clientTransactionId } = one;
    assert.deepEqual(again.body.transaction, { transactionId, clientTransactionId, state });
    const otherMerchantSale = await send(keyless, setup.otherMerchant.token);
    assertProblem(otherMerchantSale, { code: 'encryption_key_unknown', outcome: 'NotProcessed' });
    assert.equal(otherMerchantSale.body.transaction, undefined);
  });

  test('a request that is refused before decryption does not use the data', async () => {
    const one = swiped(device());
    const clientTransactionId = randomUUID();
    const unknown = { ...one, deviceId: randomUUID() };
    for (const members of [
      { ...unknown, clientTransactionId },
      { ...one, captureMode: 'Never' },
    ]) {
      const { status, body } = await send(members);
      assert.ok(status >= 400 && body.code !== 'ksn_reused', body.code);
    }
    await sold({ ...one, clientTransactionId });
  });

  // Spec: CARD-5
  test('encrypted data is one sale at fifty concurrent requests of any merchant', async () => {
    const one = swiped(device());
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        send(one, at % 2 === 0 ? setup.merchant.token : setup.otherMerchant.token),
      ),
    );
    const outcomes = answers.map(({ status, body }) => (status === 200 ? body.state : body.code));
    assert.equal(outcomes.filter((each) => each === 'Captured').length, 1, outcomes.join());
    assert.equal(outcomes.filter((each) => each === 'ksn_reused').length, 49, outcomes.join());
  });

  test('every notation of a key serial number is the same number', async () => {
    const { encrypted } = swiped(device()).instrument;
    const { ksn = '' } = encrypted;
    await sold({ entryMode: 'MagStripe', instrument: { encrypted } });
    const written = [ksn.toLowerCase(), ...(ksn.startsWith('FFFF') ? [ksn.slice(4)] : [])];
    for (const each of written) {
      const instrument = { encrypted: { ...encrypted, ksn: each } };
      assertProblem(await send({ entryMode: 'MagStripe', instrument }), {
        code: 'ksn_reused',
        pointer,
      });
    }
  });

  test('data that does not decrypt uses no counter, so a copied number blocks no device', async () => {
    const encryptingDevice = device();
    const one = swiped(encryptingDevice);
    const { encrypted } = one.instrument;
    const ksn = `${encrypted['ksn']?.slice(0, -5)}FF800`;
    const forged = { entryMode: 'MagStripe', instrument: { encrypted: { ...encrypted, ksn } } };
    assert.equal((await send(forged)).body.code, 'encrypted_data_invalid');
    await sold(one);
  });

  test('data of a sale that was declined for a PIN is accepted only with the step-up of that sale', async () => {
    const encryptingDevice = device();
    const amount = 9065;
    const deviceId = setup.merchant.deviceIds[0];
    const emv = chipData(number, { '9F02': String(amount).padStart(12, '0') });
    const instrument = encryptingDevice.encrypted('Emv', Buffer.from(emv, 'hex'));
    const tapped = { amount, deviceId, instrument, entryMode: 'ContactlessChip' };
    const { body: declined, text } = await send(tapped);
    assert.equal(declined.state, 'Declined', text);
    const stepUpOf = declined.transactionId;
    const inserted = { ...tapped, entryMode: 'ContactChip' };
    assertProblem(await send(inserted), { code: 'ksn_reused', pointer });
    const steppedUp = await send({ ...inserted, stepUpOf });
    assert.equal(steppedUp.status, 200, steppedUp.text);
    assertProblem(await send(tapped), { code: 'ksn_reused', pointer });
  });

  const offline = (members: Members, terminalSequence: number) => ({
    ...members,
    offlineTransaction: true,
    offlineData: offlineData({ terminalSequence, authorizedAt: timeAgo(hourMs) }),
    deviceId: setup.merchant.deviceIds[1],
    clientTransactionId: randomUUID(),
  });

  test('data of a sale that ended without money is accepted in an offline upload for the same amount', async () => {
    const one = { ...swiped(device()), amount: 2345 };
    const tried = await send({ ...one, captureMode: 'Deferred' });
    assert.equal(tried.body.state, 'Authorized', tried.text);
    assertProblem(await send(offline(one, 1)), { code: 'ksn_reused', pointer });
    const path = `/payment/v1/transactions/${tried.body.transactionId}/cancel`;
    const body = { cancelReason: 'Technical', reversalReason: 'Timeout' };
    const cancelled = await setup.client.call('POST', path, { token: setup.merchant.token, body });
    assert.ok(['Reversing', 'Reversed'].includes(cancelled.body.state), cancelled.text);
    assertProblem(await send(offline({ ...one, amount: 2346 }, 1)), {
      code: 'ksn_reused',
      pointer,
    });
    const stored = await send(offline(one, 1));
    assert.equal(stored.body.state, 'Stored', stored.text);
    assertProblem(await send(offline(one, 2)), { code: 'ksn_reused', pointer });
  });

  test('data of a sale that was never stored is accepted in an offline upload after its deadline', async () => {
    const one = { ...swiped(device()), amount: 3456, clientTransactionId: randomUUID() };
    await sold(one);
    const database = await testDatabase();
    const age = (interval: string) =>
      database.query(
        `UPDATE card_data_ksn_uses SET used_by = replace(used_by, $2, 'gone'),
          used_at = now() - $3::interval
          WHERE organization_id = $1 AND (used_by LIKE '%' || $2 || '%' OR used_by LIKE '%|gone|%')`,
        [setup.organizationId, one.clientTransactionId, interval],
      );
    await age('0 seconds');
    const early = await send(offline(one, 11));
    assert.deepEqual([early.body.code, early.body.retryable], ['concurrent_modification', true]);
    await age('1 hour');
    const late = await send(offline(one, 11));
    assert.equal(late.body.state, 'Stored', late.text);
  });

  // Spec: CARD-5
  test('data of offline sales is accepted late and in any order, once each', async () => {
    const encryptingDevice = device();
    const stored = [1, 2, 3].map((terminalSequence) => ({
      ...swiped(encryptingDevice),
      offlineTransaction: true,
      offlineData: offlineData({ terminalSequence, authorizedAt: timeAgo(hourMs) }),
      deviceId: setup.merchant.deviceIds[0],
      amount: 1000 + terminalSequence,
    }));
    const online = swiped(encryptingDevice);
    await sold(online);
    for (const each of stored.reverse()) {
      const { body, text } = await send(each);
      assert.equal(body.state, 'Stored', text);
    }
    const [last] = stored;
    const again = await send({ ...last });
    assertProblem(again, { code: 'offline_sale_already_uploaded', outcome: 'Processed' });
    for (const recorded of [online, last]) {
      const forged = {
        ...recorded,
        offlineTransaction: true,
        deviceId: setup.merchant.deviceIds[0],
        amount: 7777,
        offlineData: offlineData({ terminalSequence: 4, authorizedAt: timeAgo(hourMs) }),
      };
      assertProblem(await send(forged), { code: 'ksn_reused', pointer });
    }
    const { offlineTransaction: _was, offlineData: _data, ...asOnline } = { ...last };
    assertProblem(await send(asOnline), { code: 'ksn_reused', pointer });
  });
});

describe('encrypted card data with a PIN', () => {
  let setup: TestOrganization;
  let host: AcquirerHost;
  before(async () => {
    const { dataDir } = (await testPlatform()).settings;
    const key = demoKeys(dataDir).key('demo-zpk');
    host = await startAcquirerHost({
      host: '127.0.0.1',
      port: 0,
      ledgerDir: join(dataDir, 'encrypted-pin-host'),
      lateMs: testTimeoutMs + 500,
      slowMs: 900,
      keys: { zonePin: { algorithm: 'Tdes', key } },
    });
    const link = { zonePinKey: { keyRef: 'demo-zpk', format: 'ISO0' } };
    setup = await createTestOrganization({}, { acquirerPort: host.port, link });
  });
  after(() => host.stop());

  test('data is accepted again with another PIN after a wrong PIN, only for that sale', async () => {
    const encryptingDevice = createEncryptingDevice(setup.settings.dataDir, 'DukptTdes');
    const swipe = {
      entryMode: 'MagStripe',
      instrument: encryptingDevice.encrypted('Track2', Buffer.from(track2)),
    };
    const send = (members: Members) =>
      setup.client.call('POST', path, { token: setup.merchant.token, body: keyedSale(members) });
    const wrong = await send({ ...swipe, ...encryptingDevice.pin('9999', number) });
    assert.equal(wrong.body.terminalAction, 'AskPin', wrong.text);
    for (const members of [
      swipe,
      { ...swipe, ...encryptingDevice.pin('1234', number), amount: 9999 },
      { ...swipe, ...encryptingDevice.pin('1234', number), currency: 'USD' },
    ]) {
      assertProblem(await send(members), { code: 'ksn_reused', pointer });
    }
    const unread = { ...encryptingDevice.pin('1234', number), pinblock: '9F1C6A27D350B84E' };
    const other = {
      ...swipe,
      instrument: encryptingDevice.encrypted('Track2', Buffer.from(track2)),
    };
    assert.equal((await send({ ...other, ...unread })).body.code, 'pin_block_invalid');
    const next = await send({ ...other, ...encryptingDevice.pin('1234', number) });
    assert.equal(next.body.state, 'Captured', `what was refused uses nothing up: ${next.text}`);
    const right = await send({ ...swipe, ...encryptingDevice.pin('1234', number) });
    assert.equal(right.body.state, 'Captured', right.text);
    const third = await send({ ...swipe, ...encryptingDevice.pin('1234', number) });
    assertProblem(third, { code: 'ksn_reused', pointer });
  });
});

describe('used key serial numbers', () => {
  const dayMs = 86_400_000;

  test('used numbers are deleted after a year, except the highest counter of each device', async () => {
    const database = await testDatabase();
    const organizationId = randomUUID();
    let now = Date.now();
    const uses = createKsnStore({ database, clock: { now: () => now } });
    const encryptingDevice = (counter: number, isOffline = false) => ({
      organizationId,
      ksnDevicePart: 'A1',
      counter,
      usedBy: `sale ${counter}`,
      isOffline,
      takesOverFrom: undefined,
      at: now,
    });
    for (const counter of [1, 2, 5]) assert.ok(await uses.take(encryptingDevice(counter)));
    now += 371 * dayMs;
    for (const counter of [9, 12]) assert.ok(await uses.take(encryptingDevice(counter)));
    assert.equal(await createKsnCleanup(uses).deleteBatch(), false, 'one batch');
    const remainingRows = await database.query<{ counter: number }>(
      'SELECT counter FROM card_data_ksn_uses WHERE organization_id = $1 ORDER BY counter',
      [organizationId],
    );
    assert.deepEqual(
      remainingRows.map(({ counter }) => counter),
      [5, 9, 12],
    );
    assert.equal(
      await uses.take(encryptingDevice(11)),
      false,
      'a sale counts beyond all before it',
    );
    assert.equal(
      await uses.take(encryptingDevice(2, true)),
      false,
      'nor is one offline that is so old',
    );
    assert.ok(await uses.take(encryptingDevice(10, true)), 'an offline sale of this year');
    assert.equal(await uses.take({ ...encryptingDevice(10, true), usedBy: 'another sale' }), false);
    assert.ok(await uses.take(encryptingDevice(10, true)), 'the same sale');
  });
});

test('the ledgers of platform and host agree', assertLedgersAgree);
