// Online PIN: the server translates it from the device key to the acquirer key, and never twice.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Message } from '@switchyard/iso8583';
import {
  aesWorkingKey,
  buildPinBlock,
  openPinBlock,
  type PinBlockFormat,
  readKsn,
  readPinBlock,
  sealPinBlock,
} from '@switchyard/pin';
import { type AcquirerHost, startAcquirerHost } from '@switchyard/simulators';
import { createKeyCeremony, demoKeys } from '../../../src/vault/index.ts';
import {
  approvalResponse,
  encodeMessageFrame,
  type ReceivedMessage,
  type ScriptedHost,
  startScriptedHost,
} from '../../support/acquirers/scripted-host.ts';
import { chipData } from '../../support/card-data/chip-data.ts';
import {
  createEncryptingDevice,
  type EncryptingDevice,
} from '../../support/card-data/encrypting-device.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import type { HttpResponse } from '../../support/https-client.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { startSecondProcess } from '../../support/processes/second-server-process.ts';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { testPlatform, testTimeoutMs } from '../../support/test-platform.ts';
import { until } from '../../support/wait-for-result.ts';

const path = '/payment/v1/transactions/process';
const pan = '5413330089010012';
const sale = (members: Record<string, unknown> = {}) =>
  keyedSale({ entryMode: 'ContactChip', instrument: { emvData: chipData(pan) }, ...members });

/** Two custodians enter a base key into the software HSM. */
function bringKey(
  dataDir: string,
  key: Buffer,
  { name, devices }: { name: string; devices: string[] },
): void {
  const ceremony = createKeyCeremony(dataDir);
  const keyDescription = {
    name,
    usage: 'BaseDerivation',
    algorithm: 'Aes',
    devices,
    of: 2,
  } as const;
  const first = randomBytes(key.length);
  const second = Buffer.from(key.map((byte, at) => byte ^ (first[at] ?? 0)));
  for (const [custodian, component] of [
    ['alice', first],
    ['bob', second],
  ] as const) {
    const passphrase = `a long passphrase of ${custodian}`;
    ceremony.addCustodian(custodian, passphrase);
    ceremony.addComponent(keyDescription, { custodian, passphrase, component });
  }
}

describe('online PIN', () => {
  let setup: TestOrganization;
  let host: ScriptedHost;
  let tdes: EncryptingDevice;
  let aes: EncryptingDevice;
  let code = '00';

  function answering({ message, socket }: ReceivedMessage): void {
    const changed: Message['fields'] = message.mti === '0200' ? { 39: code } : {};
    socket.write(encodeMessageFrame(approvalResponse(message, changed)));
  }

  before(async () => {
    host = await startScriptedHost();
    host.script(answering);
    setup = await createTestOrganization(
      {},
      {
        acquirerPort: host.port,
        link: { zonePinKey: { keyRef: 'demo-zpk', format: 'ISO0', keyIndex: '01' } },
      },
    );
    tdes = createEncryptingDevice(setup.settings.dataDir, 'DukptTdes');
    aes = createEncryptingDevice(setup.settings.dataDir, 'DukptAes');
  });
  after(() => host.stop());

  const send = (body: Record<string, unknown>): Promise<HttpResponse> =>
    setup.client.call('POST', path, { token: setup.merchant.token, body });

  const sold = () => host.received.filter(({ message }) => message.mti === '0200');

  /** The PIN of the last sale as the acquirer decrypts it. */
  function pinAtHost(): string {
    const { message } = sold().at(-1) ?? assert.fail('no sale came');
    const zoneKey = demoKeys(setup.settings.dataDir).key('demo-zpk');
    const block = Buffer.from(message.fields[52] ?? '', 'hex');
    const opened = openPinBlock('ISO0', zoneKey, block, pan);
    return [...readPinBlock('ISO0', opened, pan)].join('');
  }

  for (const format of ['ISO0', 'ISO1', 'ISO3', 'ISO4'] as PinBlockFormat[]) {
    test(`${format} is translated to a PIN block under the key of the acquirer`, async () => {
      const device = format === 'ISO4' ? aes : tdes;
      const pin = device.pin('1234', pan, format);
      const answer = await send(sale(pin));
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.body.state, 'Captured');
      assert.equal(pinAtHost(), '1234');
      const { merchant } = answer.body.receipt;
      assert.equal(merchant.cardholderVerification, 'PinVerified');
      const asSent = JSON.stringify(sold().at(-1)?.message.fields);
      assert.ok(!asSent.includes(pin.pinblock));
    });
  }

  // Spec: SVC-19
  test('an AES-256 base key supports terminals that derive AES-128 PIN keys', async () => {
    const base = Buffer.alloc(32, 'an AES-256 base derivation key!?');
    bringKey(setup.settings.dataDir, base, { name: 'bdk-aes256', devices: ['A5256001'] });
    const second = await startSecondProcess(setup);
    try {
      const ksn = 'A52560010000000100000001';
      const key = aesWorkingKey(base, readKsn(ksn), 'pin', 'aes128');
      const clear = buildPinBlock('ISO4', [1, 2, 3, 4], pan);
      const pinblock = sealPinBlock('ISO4', key, clear, pan).toString('hex');
      const answer = await second.client.call('POST', path, {
        token: setup.merchant.token,
        body: sale({ ksn, pinblock, pinblockFormat: 'ISO4' }),
      });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.body.state, 'Captured');
      assert.equal(pinAtHost(), '1234');
    } finally {
      await second.stop();
    }
  });

  test('after a wrong PIN the client sends a new PIN with a new identifier and a new serial number', async () => {
    code = '55';
    try {
      const { body } = await send(sale(tdes.pin('9999', pan)));
      assert.equal(body.state, 'Declined');
      assert.equal(body.response.reason, 'InvalidPin');
      assert.equal(body.terminalAction, 'AskPin');
      assert.equal(body.receipt.merchant.cardholderVerification, 'None');
    } finally {
      code = '00';
    }
    assert.equal((await send(sale(tdes.pin('1234', pan)))).body.state, 'Captured');
  });

  // Spec: PAY-5 CARD-6
  test('a serial number is accepted for one sale, and an earlier one never', async () => {
    const early = tdes.pin('1234', pan);
    const pin = tdes.pin('1234', pan);
    const body = sale(pin);
    const first = await send(body);
    assert.equal(first.body.state, 'Captured', first.text);
    const requestCount = sold().length;
    const replay = await send(body);
    assert.equal(replay.body.transactionId, first.body.transactionId, 'the same try');
    for (const stale of [pin, early]) {
      const refused = await send(sale(stale));
      assert.equal(refused.status, 422);
      assert.equal(refused.body.code, 'ksn_reused', refused.text);
    }
    assert.equal(sold().length, requestCount, 'nothing was sent');
    const later = await send(sale(tdes.pin('1234', pan)));
    assert.equal(later.body.state, 'Captured', later.text);
    const old = await send(body);
    assert.equal(old.body.transactionId, first.body.transactionId, 'a replay of what came before');
  });

  test('one serial number cannot be used to try several cards or formats, also with one identifier', async () => {
    const pin = tdes.pin('1234', pan);
    const other = '4111111111111111';
    const instrument = { emvData: chipData(other) };
    const first = sale({ ...pin, instrument });
    assert.equal((await send(first)).body.code, 'pin_block_invalid');
    assert.equal((await send(first)).body.code, 'pin_block_invalid', 'the same try');
    const { clientTransactionId } = first;
    for (const members of [
      { ...pin, clientTransactionId },
      { ...pin, clientTransactionId, instrument, pinblockFormat: 'ISO3' },
    ]) {
      const answer = await send(sale(members));
      assert.equal(answer.body.code, 'ksn_reused', answer.text);
    }
  });

  test('serial numbers that a merchant guesses do not block devices of others, and copied data is refused', async () => {
    const elsewhere = (body: Record<string, unknown>) =>
      setup.client.call('POST', path, { token: setup.otherMerchant.token, body });
    const pin = tdes.pin('1234', pan);
    const last = { ...pin, ksn: `${pin.ksn.slice(0, -5)}FF800`, pinblock: '9F1C6A27D350B84E' };
    assert.equal((await elsewhere(sale(last))).body.code, 'pin_block_invalid');
    const ownSale = await send(sale(pin));
    assert.equal(ownSale.body.state, 'Captured', ownSale.text);
    const requestCount = sold().length;
    assert.equal((await elsewhere(sale(pin))).body.code, 'ksn_reused');
    assert.equal(sold().length, requestCount, 'nothing was sent');
  });

  test('of many concurrent sales with one serial number, one is processed', async () => {
    const pin = tdes.pin('1234', pan);
    const answers = await Promise.all(Array.from({ length: 12 }, () => send(sale(pin))));
    const outcomes = answers.map(({ status, body }) => (status === 200 ? body.state : body.code));
    assert.equal(outcomes.filter((each) => each === 'Captured').length, 1, outcomes.join());
    assert.equal(outcomes.filter((each) => each === 'ksn_reused').length, 11, outcomes.join());
  });

  test('every fault of a PIN block has the same response, and nothing is sent', async () => {
    const requestCount = sold().length;
    const good = () => tdes.pin('1234', pan);
    const wrong = [
      { ...good(), pinblock: '9F1C6A27D350B84E' },
      tdes.pin('1234', '4111111111111111'),
      { ...tdes.pin('1234', pan, 'ISO3'), pinblockFormat: 'ISO0' },
      { ...good(), ksn: 'FFFF0000000000200001' },
      { ...good(), ksn: `${tdes.nextKsn().slice(0, -5)}00000` },
    ];
    const answers = new Set<string>();
    for (const members of wrong) {
      const { status, body, text } = await send(sale(members));
      assert.equal(status, 422, text);
      answers.add(JSON.stringify([body.code, body.detail, body.errors]));
    }
    assert.equal(answers.size, 1, [...answers].join('\n'));
    assert.match([...answers].join(), /^\["pin_block_invalid"/);
    assert.equal(sold().length, requestCount);
  });

  // Spec: CARDF-12
  test('the PIN members are all required, fit each other, and need a card that was read', async () => {
    const { ksn, pinblock, pinblockFormat } = tdes.pin('1234', pan);
    const cases: [Record<string, unknown>, string, string][] = [
      [sale({ ksn }), 'pin_data_incomplete', '/pinblock'],
      [sale({ pinblock, pinblockFormat }), 'pin_data_incomplete', '/ksn'],
      [keyedSale({ ksn, pinblock, pinblockFormat }), 'entry_mode_invalid', '/entryMode'],
      [
        sale({ ksn, pinblock, pinblockFormat: 'ISO4' }),
        'pin_format_unsupported',
        '/pinblockFormat',
      ],
      [
        sale({ ksn, pinblock, pinblockFormat: 'ISO2' }),
        'pin_format_unsupported',
        '/pinblockFormat',
      ],
      [sale({ ksn: ksn.slice(1), pinblock, pinblockFormat }), 'field_invalid', '/ksn'],
      [sale({ ksn, pinblock: 'xyz', pinblockFormat }), 'field_invalid', '/pinblock'],
    ];
    for (const [body, expected, pointer] of cases) {
      const answer = await send(body);
      assert.equal(answer.status, 422, answer.text);
      assert.equal(answer.body.code, expected, answer.text);
      assert.equal(answer.body.errors[0].pointer, pointer, answer.text);
    }
  });

  test('a link without a zone key refuses PINs', async () => {
    const other = await createTestOrganization();
    const { body } = await other.client.call('POST', path, {
      token: other.merchant.token,
      body: sale(tdes.pin('1234', pan)),
    });
    assert.equal(body.code, 'pin_not_supported');
  });

  test('a reversal contains no PIN, track or chip data', async () => {
    host.script(({ message, socket }: ReceivedMessage) => {
      if (message.mti === '0200') return;
      const answer = approvalResponse(message);
      const mti = message.mti.startsWith('042') ? '0430' : answer.mti;
      socket.write(encodeMessageFrame({ ...answer, mti }));
    });
    try {
      const { body } = await send(sale(tdes.pin('1234', pan)));
      assert.equal(body.state, 'Reversing');
      const reversal = await until(
        () => host.received.find(({ message }) => message.mti.startsWith('042')),
        'the reversal',
      );
      const { fields } = reversal.message;
      for (const field of [35, 45, 48, 52, 53, 55]) assert.equal(fields[field], undefined);
      await until(async () => {
        const path = `/payment/v1/transactions/${body.transactionId}`;
        const { body: now } = await setup.client.call('GET', path, { token: setup.merchant.token });
        return now.state === 'Reversed' ? now : undefined;
      }, 'the end of it');
    } finally {
      host.script(answering);
    }
  });

  test('only the counter of the device is stored, nothing of the PIN', async () => {
    const pin = tdes.pin('1234', pan);
    const { body } = await send(sale(pin));
    const database = await testDatabase();
    const rows = await database.query<{ row: string }>(
      `SELECT t::text AS row FROM transaction_events t WHERE organization_id = $1 AND transaction_id = $2
        UNION ALL SELECT o::text FROM operations o WHERE organization_id = $1
        UNION ALL SELECT p::text FROM pin_ksn_counters p WHERE organization_id = $1`,
      [setup.organizationId, body.transactionId],
    );
    assert.ok(rows.length >= 3);
    for (const { row } of rows) {
      assert.ok(!row.includes(pin.pinblock) && !row.includes(pin.ksn), row.slice(0, 200));
    }
  });
});

describe('online PIN at the acquirer host', () => {
  let setup: TestOrganization;
  let host: AcquirerHost;

  before(async () => {
    const { dataDir } = (await testPlatform()).settings;
    const key = demoKeys(dataDir).key('demo-zpk');
    host = await startAcquirerHost({
      host: '127.0.0.1',
      port: 0,
      ledgerDir: join(dataDir, 'pin-host'),
      lateMs: testTimeoutMs + 500,
      slowMs: 900,
      keys: { zonePin: { algorithm: 'Tdes', key } },
    });
    const link = { zonePinKey: { keyRef: 'demo-zpk', format: 'ISO3' } };
    setup = await createTestOrganization({}, { acquirerPort: host.port, link });
  });
  after(() => host.stop());

  // Spec: SVC-19
  test('the simulator approves PIN 1234 and answers 55 to every other', async () => {
    for (const scheme of ['DukptTdes', 'DukptAes'] as const) {
      const device = createEncryptingDevice(setup.settings.dataDir, scheme);
      for (const [digits, state] of [
        ['1234', 'Captured'],
        ['123456', 'Declined'],
      ] as const) {
        const body = sale(device.pin(digits, pan));
        const answer = await setup.client.call('POST', path, { token: setup.merchant.token, body });
        assert.equal(answer.body.state, state, answer.text);
      }
    }
  });
});
