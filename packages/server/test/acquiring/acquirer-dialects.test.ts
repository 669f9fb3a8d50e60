// Whole run: much is made, or waited for, before it shows.
// The same payments in every host dialect: the ledgers of host and platform agree to the minor
// unit.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { builtInHosts, findHostTable, type HostTable, hostTableNames } from '@switchyard/iso8583';
import { demoKeys } from '../../src/vault/index.ts';
import { assertAgreement } from '../payments/ledger/ledger-invariants.ts';
import {
  act,
  createOrganizationOnHost,
  ownTable,
  sell,
  sellRefundAndCapture,
  startHost,
} from '../support/acquirers/organization-on-host.ts';
import { assertProblem } from '../support/assert-problem-response.ts';
import { chipData } from '../support/card-data/chip-data.ts';
import { createEncryptingDevice } from '../support/card-data/encrypting-device.ts';
import { testDatabase } from '../support/database/test-database.ts';
import { freePorts } from '../support/free-ports.ts';
import { call } from '../support/payment-calls.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { testPlatform } from '../support/test-platform.ts';
import { until } from '../support/wait-for-result.ts';

const mac = (algorithm: 'AesCmac' | 'Iso9797Alg3') =>
  ({ algorithm, place: 'Last', over: 'BeforeField', messages: 'Financial' }) as const;

const orderChannels = ['MailOrder', 'TelephoneOrder'];

/** Authorises 609 as a remote order, captures 425 as the final capture, and compares ledgers. */
async function finalCaptureOfRemoteOrder(
  setup: TestOrganization,
  orderChannel: string,
): Promise<void> {
  const order = { amount: 609, captureMode: 'Deferred', orderChannel };
  const { body, text } = await sell(setup, { ...order, zipCode: '12345', houseNumber: '9' });
  assert.equal(body.state, 'Authorized', text);
  await act(setup, body.transactionId, 'capture', { amount: 425, final: true });
  const [original] = setup.host.ledger().originals.slice(-1);
  assert.deepEqual([original?.approved, original?.captured, original?.held], [609, 425, 425]);
  assert.equal(setup.host.ledger().totals[0]?.openHolds, 0);
  await assertAgreement(setup);
}

describe('every dialect', { concurrency: 4 }, () => {
  for (const table of Object.values(builtInHosts)) {
    test(`${table.name}: the final capture of a mail or telephone order releases the rest`, async (t) => {
      const setup = await createOrganizationOnHost(t, table);
      for (const orderChannel of orderChannels)
        await finalCaptureOfRemoteOrder(setup, orderChannel);
    });
  }

  for (const name of hostTableNames) {
    test(`${name}: sales, captures, refunds, cancels and reversals agree with the host`, async (t) => {
      const table = findHostTable(name);
      assert.ok(table);
      await sellRefundAndCapture(await createOrganizationOnHost(t, table));
    });
  }

  // The same table with other approval codes, such as "update the chip" or codes of the host's own.
  const dialectThatApproves = (whole: string, part: string): HostTable => {
    const { responseCodes, ...table } = builtInHosts['iso1993-ascii'];
    const otherCodes = Object.entries(responseCodes.financial).filter(
      ([code]) => !code.startsWith('0'),
    );
    const financial = { ...Object.fromEntries(otherCodes), [whole]: '00', [part]: '10' };
    return { ...table, responseCodes: { ...responseCodes, financial } };
  };

  // Spec: CARD-56
  test('a 1993 host with approval codes 007 and 006 agrees with the platform', async (t) => {
    await sellRefundAndCapture(
      await createOrganizationOnHost(t, dialectThatApproves('007', '006')),
    );
  });

  test('a 1993 host with an approval code of its own approves a sale and one refund', async (t) => {
    const setup = await createOrganizationOnHost(t, dialectThatApproves('071', '006'));
    const sold = (await sell(setup, { amount: 5000 })).body;
    assert.deepEqual([sold.state, sold.response.code], ['Captured', '071']);
    await act(setup, sold.transactionId, 'refund', { amount: 1200 });
    await assertAgreement(setup);
    const [totals] = setup.host.ledger().totals;
    assert.deepEqual([totals?.captured, totals?.refunded], [5000, 1200]);
  });

  // Spec: ACQ-1
  test('messages with a MAC: sales, captures, refunds and cancels agree with the host', async (t) => {
    const { settings } = await testPlatform();
    const key = { algorithm: 'Tdes', key: demoKeys(settings.dataDir).key('demo-mac') } as const;
    const table = await ownTable('coded-1993', 'iso1993-ascii', { mac: mac('Iso9797Alg3') });
    const keys = { keys: { mac: key }, link: { macKey: { keyRef: 'demo-mac' } } };
    await sellRefundAndCapture(await createOrganizationOnHost(t, table, keys));
  });

  // Spec: ACQ-1
  test('an unknown dialect is refused, and the error lists the known dialects', async () => {
    const setup = await createTestOrganization();
    const link = { name: 'north', host: '127.0.0.1', port: 1, tls: false, institutionId: '1' };
    const refused = await setup.client.call('POST', '/provisioning/v2/acquirer-links', {
      token: setup.acquirerToken,
      body: { ...link, dialect: 'iso2021' },
    });
    assert.equal(refused.status, 422, refused.text);
    await ownTable('coded-1987', 'iso1987-binary', { mac: mac('AesCmac') });
    const keyless = await setup.client.call('POST', '/provisioning/v2/acquirer-links', {
      token: setup.acquirerToken,
      body: { ...link, dialect: 'coded-1987' },
    });
    assert.equal(keyless.body.errors?.[0]?.pointer, '/macKey', keyless.text);
    const [error] = refused.body.errors;
    assert.equal(error.pointer, '/dialect');
    assert.match(error.detail, /iso1987-binary, iso1987-ascii, iso1993-ascii/);
  });
});

describe('PIN blocks of format 4', () => {
  const pan = '5413330089010012';

  test('a format 4 PIN block is sent only to hosts whose dialect has a field for it', async (t) => {
    const { settings } = await testPlatform();
    const zonePin = {
      algorithm: 'Aes',
      key: demoKeys(settings.dataDir).key('demo-zpk-aes'),
    } as const;
    const wide = { '52': { content: 'b', size: 'fixed', max: 16 } };
    const table = await ownTable('wide-1987', 'iso1987-binary', { messages: { fields: wide } });
    const link = { zonePinKey: { keyRef: 'demo-zpk-aes', format: 'ISO4' } };
    const setup = await createOrganizationOnHost(t, table, { keys: { zonePin }, link });
    const device = createEncryptingDevice(settings.dataDir, 'DukptAes');
    for (const [digits, code] of [
      ['1234', '00'],
      ['98765', '55'],
    ] as const) {
      const instrument = { emvData: chipData(pan) };
      const pin = device.pin(digits, pan);
      const { body, text } = await sell(setup, { entryMode: 'ContactChip', instrument, ...pin });
      assert.equal(body.response?.code, code, text);
    }
    const narrow = await setup.client.call('POST', '/provisioning/v2/acquirer-links', {
      token: setup.acquirerToken,
      body: { name: 'narrow', host: 'a.example', port: 1, institutionId: '1', ...link },
    });
    assert.equal(narrow.status, 422, narrow.text);
    assert.equal(narrow.body.errors[0].pointer, '/zonePinKey/format');
  });
});

describe('keys that the host sends', () => {
  const pan = '5413330089010012';

  // Spec: ACQ-11
  test('keys are requested, verified, stored, used for PINs and MACs, and replaced', async (t) => {
    const { settings } = await testPlatform();
    const database = await testDatabase();
    const master = demoKeys(settings.dataDir).key('demo-zmk-aes');
    const keys = { zoneMaster: { algorithm: 'Aes', key: master } as const };
    const table = await ownTable('keyed-1987', 'iso1987-ascii', { mac: mac('AesCmac') });
    const link = {
      zoneMasterKey: { keyRef: 'demo-zmk-aes' },
      zonePinKey: { keyRef: 'demo-zpk', format: 'ISO0' },
    };
    const ledgerDir = await mkdtemp(join(tmpdir(), 'switchyard-keys-'));
    const [port = 0] = await freePorts(1);
    let host = await startHost({ table, keys, ledgerDir, port });
    t.after(async () => {
      await host.stop();
      await rm(ledgerDir, { recursive: true, force: true });
    });
    // createTestOrganization waits for the MAC key, because the link can send nothing before it arrives.
    const dialect = table.name;
    const setup = await createTestOrganization(
      {},
      { acquirerPort: port, link: { dialect, ...link } },
    );
    const stored = () =>
      database.query<{ usage: string; generation: number; check_value: string }>(
        `SELECT usage, generation, check_value FROM acquirer_link_keys
         WHERE organization_id = $1 ORDER BY usage, generation`,
        [setup.organizationId],
      );
    await until(async () => ((await stored()).length === 2 ? true : undefined), 'both keys');

    const device = createEncryptingDevice(settings.dataDir, 'DukptTdes');
    const withPin = async (digits: string) => {
      const instrument = { emvData: chipData(pan) };
      const pin = device.pin(digits, pan);
      const { body, text } = await sell(setup, { entryMode: 'ContactChip', instrument, ...pin });
      return [body.state, body.response?.code, text].slice(0, 2);
    };
    assert.deepEqual(await withPin('1234'), ['Captured', '00']);
    assert.deepEqual(await withPin('4321'), ['Declined', '55']);

    const before = await stored();
    host.changeKey('M');
    host.changeKey('P');
    await until(async () => ((await stored()).length === 4 ? true : undefined), 'the new keys');
    assert.equal(new Set((await stored()).map((each) => each.check_value)).size, 4);
    assert.deepEqual(await withPin('1234'), ['Captured', '00']);
    // The platform stores every received key, so it does not store one twice.
    host.changeKey('M');
    const generations = async () =>
      (await stored()).map(({ usage, generation }) => `${usage} ${generation}`);
    const expected = ['Mac 1', 'Mac 2', 'Mac 3', 'ZonePin 1', 'ZonePin 2'].join();
    await until(async () => (await generations()).join() === expected, 'a third key');
    assert.ok(before.every(({ generation }) => generation === 1));

    // After a restart both sides use the agreed keys.
    await host.stop();
    host = await startHost({ table, keys, ledgerDir, port });
    const isAvailable = () => call(setup, 'GET', '/technical/isAvailable');
    await until(async () => (await isAvailable()).body.available === true, 'the link');
    assert.deepEqual(await withPin('1234'), ['Captured', '00']);
    assert.equal((await generations()).join(), expected);
    await assertAgreement({ ...setup, host });

    // A host that lost its keys sends new ones when the acquirer requests them.
    await host.stop();
    const emptyDir = await mkdtemp(join(tmpdir(), 'switchyard-keys-'));
    t.after(() => rm(emptyDir, { recursive: true, force: true }));
    host = await startHost({ table, keys, ledgerDir: emptyDir, port });
    await until(async () => (await isAvailable()).body.available === true, 'the link again');
    const requestKeys = () =>
      setup.client.call('POST', `/payment/v1/acquirer-links/${setup.linkId}/request-keys`, {
        token: setup.acquirerToken,
      });
    const requested = await requestKeys();
    assert.equal(requested.status, 204, requested.text);
    const after = [expected, 'Mac 4', 'ZonePin 3'].join().split(',').sort().join();
    await until(async () => (await generations()).join() === after, 'the requested keys');
    assert.deepEqual(await withPin('1234'), ['Captured', '00']);
    await host.stop();
    const refused = await requestKeys();
    assertProblem(refused, { code: 'key_request_refused' });
    const records = await database.query(
      `SELECT 1 FROM audit_records WHERE organization_id = $1 AND action = 'acquirerLink.keysRequested'`,
      [setup.organizationId],
    );
    assert.equal(records.length, 2, 'also of the request without a response');
  });

  test('a link without a zone master key requests no keys', async () => {
    const setup = await createTestOrganization();
    const path = `/payment/v1/acquirer-links/${setup.linkId}/request-keys`;
    const refused = await setup.client.call('POST', path, { token: setup.acquirerToken });
    assertProblem(refused, { code: 'key_request_refused' });
    const denied = await setup.client.call('POST', path, { token: setup.merchant.token });
    assertProblem(denied, { code: 'permission_denied' });
  });
});
