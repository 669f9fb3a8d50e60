// Whole run: many sales are prepared, or a process is started, for each test.
// From a contactless tap that needs more to PIN or chip, including a final decline by the chip.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { bucketSql } from '../../../src/platform/index.ts';
import {
  approvalResponse,
  encodeMessageFrame,
  startScriptedHost,
} from '../../support/acquirers/scripted-host.ts';
import {
  type AttachedAcquirer,
  attachHttpAcquirer,
  contractTermsOnLink,
  waitUntilAvailable,
} from '../../support/acquirers/test-http-acquirer.ts';
import { chipData, encodeTlv } from '../../support/card-data/chip-data.ts';
import {
  createEncryptingDevice,
  type EncryptingDevice,
} from '../../support/card-data/encrypting-device.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import type { HttpResponse } from '../../support/https-client.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import {
  createTestOrganization,
  type TestMerchant,
  type TestOrganization,
} from '../../support/test-organization.ts';
import { assertAgreement } from '../ledger/ledger-invariants.ts';

const base = '/payment/v1/transactions';
/** The host answers this amount with code 65: contactless limit exceeded. */
const tooManyTaps = 9065;
const amountOf = (amount: number) => ({ '9F02': String(amount).padStart(12, '0') });
const pan = '5413330089010012';

function call(
  setup: TestOrganization,
  path: string,
  body: unknown,
  merchant: TestMerchant = setup.merchant,
): Promise<HttpResponse> {
  return setup.client.call('POST', base + path, { token: merchant.token, body });
}

const chip = (entryMode: string, amount: number, members: Record<string, unknown> = {}) =>
  keyedSale({
    entryMode,
    amount,
    instrument: { emvData: chipData(pan, amountOf(amount)) },
    ...members,
  });

describe('step-up after a decline', () => {
  let setup: TestOrganization;
  let declined: { transactionId: string; clientTransactionId: string };
  const deviceId = () => setup.merchant.deviceIds[0];

  async function relay(amount = tooManyTaps) {
    const { body, text } = await call(
      setup,
      '/process',
      chip('ContactlessChip', amount, { deviceId: deviceId() }),
    );
    assert.equal(body.state, 'Declined', text);
    return body;
  }

  before(async () => {
    setup = await createTestOrganization();
    declined = await relay();
  });

  const insert = (members: Record<string, unknown> = {}) =>
    chip('ContactChip', tooManyTaps, {
      deviceId: deviceId(),
      stepUpOf: declined.transactionId,
      ...members,
    });

  // Spec: CARD-27
  test('the server asks for the chip after a contactless decline, and not after a chip or keyed decline', async () => {
    const sale = await relay();
    assert.equal(sale.terminalAction, 'UseChip');
    assert.equal(sale.response.reason, 'PinOrChipRequired');
    const inserted = await call(setup, '/process', chip('ContactChip', tooManyTaps));
    assert.equal(inserted.body.response.reason, 'ExceedsCountLimit');
    assert.equal(inserted.body.terminalAction, 'Decline', 'there is no other reader left');
    const typed = await call(setup, '/process', keyedSale({ amount: 9055 }));
    assert.equal(typed.body.terminalAction, 'Decline', 'nobody can enter a PIN');
  });

  test('a step-up that differs from the declined sale is refused, and the declined sale stays free', async () => {
    const approved = await call(
      setup,
      '/process',
      chip('ContactlessChip', 1234, { deviceId: deviceId() }),
    );
    const refused: [Record<string, unknown>, string][] = [
      [insert({ deviceId: setup.merchant.deviceIds[1] }), 'step_up_invalid'],
      [insert({ deviceId: undefined }), 'step_up_invalid'],
      [
        chip('ContactChip', 9066, { deviceId: deviceId(), stepUpOf: declined.transactionId }),
        'step_up_invalid',
      ],
      [insert({ currency: 'USD', instrument: usd() }), 'step_up_invalid'],
      [
        chip('ContactlessChip', tooManyTaps, {
          deviceId: deviceId(),
          stepUpOf: declined.transactionId,
        }),
        'step_up_invalid',
      ],
      [
        chip('ContactChip', 1234, { deviceId: deviceId(), stepUpOf: approved.body.transactionId }),
        'step_up_invalid',
      ],
      [insert({ stepUpOf: 'never-heard-of' }), 'transaction_not_found'],
    ];
    for (const [body, code] of refused) {
      const answer = await call(setup, '/process', body);
      assert.equal(answer.body.code, code, answer.text);
    }
    const otherMerchantSale = await call(
      setup,
      '/process',
      { ...insert(), deviceId: setup.otherMerchant.deviceIds[0] },
      setup.otherMerchant,
    );
    assert.equal(otherMerchantSale.status, 404, otherMerchantSale.text);
  });

  const usd = () => ({
    emvData: chipData(pan, { ...amountOf(tooManyTaps), '5F2A': '0840' }),
  });

  // Spec: CARD-7
  test('a step-up names the declined sale by either identifier, and only one step-up is accepted', async () => {
    const body = insert({ stepUpOf: declined.clientTransactionId });
    const first = await call(setup, '/process', body);
    assert.equal(first.status, 200, first.text);
    assert.equal(first.body.stepUpOf, declined.transactionId);
    const replay = await call(setup, '/process', body);
    assert.equal(replay.body.transactionId, first.body.transactionId);
    const second = await call(setup, '/process', insert());
    assert.equal(second.status, 422);
    assert.equal(second.body.code, 'step_up_invalid');
  });

  test('of several concurrent step-ups one is accepted', async () => {
    const { transactionId: stepUpOf } = await relay();
    const bodies = Array.from({ length: 8 }, () => insert({ stepUpOf }));
    const answers = await Promise.all(bodies.map((body) => call(setup, '/process', body)));
    const accepted = answers.filter(({ status }) => status === 200);
    assert.equal(accepted.length, 1);
    for (const { status, body } of answers) {
      if (status !== 200) assert.equal(body.code, 'step_up_invalid');
    }
  });

  test('the ledgers of platform and host agree', async () => {
    await assertAgreement(setup);
  });
});

describe('unsent step-ups', () => {
  let setup: TestOrganization;
  let merchant: TestMerchant;
  let bank: AttachedAcquirer;
  let device: EncryptingDevice;

  before(async () => {
    setup = await createTestOrganization();
    bank = await attachHttpAcquirer(setup, 'bank');
    merchant = await setup.createMerchant(contractTermsOnLink(bank.linkId));
    await waitUntilAvailable(setup, merchant.token);
    device = createEncryptingDevice(setup.settings.dataDir, 'DukptTdes');
  });

  const sell = (entryMode: string, amount: number, members: Record<string, unknown>) =>
    call(
      setup,
      '/process',
      chip(entryMode, amount, { deviceId: merchant.deviceIds[0], ...members }),
      merchant,
    );

  async function notSent(sale: () => Promise<HttpResponse>): Promise<void> {
    bank.server.setReady(false);
    const answer = await sale();
    assert.equal(answer.body.code, 'not_sent', answer.text);
    bank.server.setReady(true);
    await waitUntilAvailable(setup, merchant.token);
  }

  // Spec: CARD-7
  test('after unsent step-ups, the next step-up can use the declined sale, and later step-ups are refused', async () => {
    const { body: tapped } = await sell('ContactlessChip', tooManyTaps, {});
    assert.equal(tapped.terminalAction, 'UseChip');
    const stepUpOf = tapped.transactionId;
    const insert = (clientTransactionId: string) =>
      sell('ContactChip', tooManyTaps, { stepUpOf, clientTransactionId });
    await notSent(() => insert('nothing-1'));
    await notSent(() => insert('nothing-2'));
    const accepted = await insert('taken');
    assert.deepEqual([accepted.status, accepted.body.stepUpOf], [200, stepUpOf], accepted.text);
    const late = await insert('late');
    assert.equal(late.body.code, 'step_up_invalid', late.text);
    // The server replays the failed result, and does not release the declined sale again.
    assert.equal((await insert('nothing-1')).body.code, 'not_sent');
    const replay = await insert('taken');
    assert.equal(replay.headers['idempotent-replayed'], 'true', replay.text);
  });

  test('an unsent step-up also leaves the encrypted data to the next step-up of the same amount', async () => {
    const track = Buffer.from(`${pan}=30122010000012345`);
    const instrument = device.encrypted('Track2', track);
    const swipe = (clientTransactionId: string, amount = 1234) =>
      sell('ContactlessMagStripe', amount, { instrument, clientTransactionId });
    await notSent(() => swipe('swiped-1'));
    assert.equal((await swipe('swiped-2', 1235)).body.code, 'ksn_reused');
    const sold = await swipe('swiped-3');
    assert.equal(sold.body.state, 'Captured', sold.text);
    assert.equal((await swipe('swiped-4')).body.code, 'ksn_reused');
  });

  test('a step-up that was never stored can be replaced after its request timeout', async () => {
    const { body: tapped } = await sell('ContactlessChip', tooManyTaps, {});
    const stepUpOf = tapped.transactionId;
    const database = await testDatabase();
    const begun = (ago: string) =>
      database.query(
        `INSERT INTO step_ups (bucket, organization_id, declined_transaction_id, claimed_by, created_at)
          VALUES (${bucketSql('$2::uuid')}, $1, $2, $3, now() - $4::interval)
          ON CONFLICT (bucket, declined_transaction_id) DO UPDATE SET created_at = excluded.created_at`,
        [setup.organizationId, stepUpOf, `${merchant.merchantId}|never-stored`, ago],
      );
    await begun('1 second');
    const early = await sell('ContactChip', tooManyTaps, { stepUpOf });
    assert.equal(early.body.code, 'step_up_invalid', early.text);
    await begun('1 hour');
    const later = await sell('ContactChip', tooManyTaps, { stepUpOf });
    assert.equal(later.body.stepUpOf, stepUpOf, later.text);
  });

  test('a step-up that was refused before it was stored is accepted after a correction', async () => {
    const { body: tapped } = await sell('ContactlessChip', tooManyTaps, {});
    const members = { stepUpOf: tapped.transactionId, clientTransactionId: 'mended' };
    const pin = { ...device.pin('1234', pan), ksn: device.nextKsn() };
    const refused = await sell('ContactChip', tooManyTaps, { ...members, ...pin });
    assert.equal(refused.status, 422, refused.text);
    const other = { stepUpOf: tapped.transactionId, clientTransactionId: 'another' };
    const accepted = await sell('ContactChip', tooManyTaps, other);
    assert.equal(accepted.body.stepUpOf, tapped.transactionId, accepted.text);
  });
});

describe('chip declines after an approval', () => {
  let setup: TestOrganization;
  before(async () => {
    setup = await createTestOrganization();
  });

  const approvedSale = async (members: Record<string, unknown> = {}) => {
    const body = chip('ContactChip', 1234, { captureMode: 'Deferred', ...members });
    const { body: sale, text } = await call(setup, '/process', body);
    assert.equal(sale.state, 'Authorized', text);
    return sale;
  };

  const declines = (emvData: string, members: Record<string, unknown> = {}) => ({
    cancelReason: 'Technical',
    reversalReason: 'ChipDeclined',
    emvData,
    ...members,
  });

  // Spec: CARD-35
  test('a chip decline reverses the sale, with the data of the chip', async () => {
    for (const emvData of [
      chipData(pan, { '9F27': '00' }),
      encodeTlv({ '9F26': '1122334455667788', '9F27': '00', '9F36': '0002', '95': '0000008000' }),
    ]) {
      const sale = await approvedSale();
      const answer = await call(setup, `/${sale.transactionId}/cancel`, declines(emvData));
      assert.equal(answer.body.state, 'Reversed', answer.text);
      assert.equal(answer.body.terminalAction, 'Decline');
      assert.equal(answer.body.operation.reversalReason, 'ChipDeclined');
      assert.ok(!answer.text.includes(pan));
    }
  });

  test('a captured sale is not reversed by a chip decline, unless it waits for its confirmation', async () => {
    const emvData = chipData(pan, { '9F27': '00' });
    const sell = async (members: Record<string, unknown>) => {
      const { body } = await call(setup, '/process', chip('ContactChip', 1234, members));
      assert.equal(body.state, 'Captured');
      return body.transactionId;
    };
    const captured = await sell({});
    const refused = await call(setup, `/${captured}/cancel`, declines(emvData));
    assert.equal(refused.body.code, 'already_captured', refused.text);
    const awaited = await sell({ confirmWithinSeconds: 120 });
    const answer = await call(setup, `/${awaited}/cancel`, declines(emvData));
    assert.equal(answer.body.state, 'Reversed', answer.text);
  });

  test('the chip data is sent in DE55 without card data, and is then deleted', async () => {
    const host = await startScriptedHost();
    try {
      host.script(({ message, socket }) => {
        const answer = approvalResponse(message);
        const mti = message.mti.startsWith('042') ? '0430' : answer.mti;
        socket.write(encodeMessageFrame({ ...answer, mti }));
      });
      const otherOrganization = await createTestOrganization({}, { acquirerPort: host.port });
      const body = chip('ContactChip', 1234, { captureMode: 'Deferred' });
      const { body: sale } = await call(otherOrganization, '/process', body);
      const emvData = chipData(pan, { '9F27': '00', '9F26': 'A1A2A3A4A5A6A7A8' });
      const answer = await call(
        otherOrganization,
        `/${sale.transactionId}/cancel`,
        declines(emvData),
      );
      assert.equal(answer.body.state, 'Reversed', answer.text);
      const hostReversal = host.received.find(({ message }) => message.mti === '0420');
      const de55 = hostReversal?.message.fields[55]?.toUpperCase() ?? '';
      assert.match(de55, /9F270100/);
      assert.match(de55, /9F2608A1A2A3A4A5A6A7A8/);
      assert.ok(!de55.includes(pan), 'no card number');
      const database = await testDatabase();
      const rows = await database.query<{ row: string }>(
        'SELECT o::text AS row FROM operations o WHERE organization_id = $1',
        [otherOrganization.organizationId],
      );
      assert.equal(rows.length, 1);
      for (const { row } of rows) assert.ok(!row.toUpperCase().includes('A1A2A3A4A5A6A7A8'));
    } finally {
      await host.stop();
    }
  });

  test('data of another card, an approval of the chip and invalid data are refused', async () => {
    const sale = await approvedSale();
    const path = `/${sale.transactionId}/cancel`;
    const aac = { '9F27': '00' };
    const good = chipData(pan, aac);
    const cases: [Record<string, unknown>, string][] = [
      [declines(chipData('4111111111111111', aac)), 'emv_data_mismatch'],
      [declines(encodeTlv({ '5A': '4111111111111111', ...aac })), 'emv_data_mismatch'],
      [declines(chipData(pan, { '9F27': '40' })), 'emv_data_mismatch'],
      [declines('9F27'), 'emv_data_invalid'],
      [declines(good, { cancelReason: 'Functional' }), 'field_invalid'],
    ];
    for (const [body, code] of cases) {
      const answer = await call(setup, path, body);
      assert.equal(answer.status, 422, answer.text);
      assert.equal(answer.body.code, code, answer.text);
    }
    const typed = await call(setup, '/process', keyedSale({ captureMode: 'Deferred' }));
    const unchanged = await call(setup, `/${typed.body.transactionId}/cancel`, declines(good));
    assert.equal(unchanged.body.code, 'field_invalid', unchanged.text);
    const reversed = await call(setup, path, declines(good));
    assert.equal(reversed.body.state, 'Reversed', reversed.text);
  });

  test('and the books agree with the host', async () => {
    await assertAgreement(setup);
  });
});
