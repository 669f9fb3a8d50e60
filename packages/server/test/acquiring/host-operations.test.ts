// Whole run: much is made, or waited for, before it shows.
// Hosts with their own message types, processing codes, originals, fields and sign-on: the ledgers of host and
// platform agree.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertAgreement } from '../payments/ledger/ledger-invariants.ts';
import {
  act,
  createOrganizationOnHost,
  ownTable,
  sell,
  sellRefundAndCapture,
} from '../support/acquirers/organization-on-host.ts';
import { call } from '../support/payment-calls.ts';

/** The host does not answer two reversals of this card. */
const silentCard = { card: { number: '4000000000004202', expiryMonth: 12, expiryYear: 2030 } };

const text = (max: number) => ({ content: 'ans', size: 'LLL', max });

/** Members of the tables by name; each table differs from a built-in one. */
const tables: Record<string, { base: string; members: object }> = {
  'financial-completion': {
    base: 'iso1987-ascii',
    members: {
      correlation: { echo: { 3: 'Ignore' } },
      operations: {
        capture: { type: '0200' },
        refund: { type: '0220' },
        void: { type: '0200', processingCode: '020000' },
        reversal: { type: '0400' },
      },
    },
  },
  'authorisation-completion': {
    base: 'iso1987-binary',
    members: {
      retrievalReference: { assignedBy: 'Host', inRequests: 'IfAssigned' },
      correlation: { echo: { 37: 'Ignore' } },
      originalData: {
        field: 61,
        layout: 'stan:6 rrn:12 approval:6 date:4 time:6 terminal:8 amount:12',
      },
      messages: { fields: { 61: text(54) } },
      operations: {
        capture: { type: '0100' },
        refund: { type: '0100' },
        void: { type: '0220', processingCode: '020000' },
        motoSale: { processingCode: '000800' },
        motoAuthorization: { processingCode: '000800' },
        accountVerification: { processingCode: '330000' },
      },
      repeatIndicator: { field: 63, first: '0', repeat: '1' },
    },
  },
  'original-numbers': {
    base: 'iso1987-ascii',
    members: {
      originalData: null,
      correlation: { echo: { 3: 'PrefixEqual' } },
      network: { signOnBy: 'Terminal' },
      operations: {
        sale: { processingCode: '003000' },
        cashback: { processingCode: '093000' },
        capture: { fromOriginal: [37] },
        refund: { fromOriginal: [37], processingCode: '200030' },
        void: { type: '0200', processingCode: '023000', fromOriginal: [37] },
        reversal: { type: '0400', fromOriginal: [11, 37] },
      },
      reversalReasons: { field: 39, codes: { 4021: '68' }, otherwise: '17' },
    },
  },
  'function-codes': {
    base: 'iso1993-ascii',
    members: {
      network: { signOnBy: 'None', echoSeconds: null },
      operations: {
        capture: { type: '0200' },
        void: { type: '0200', constants: { 24: '280' } },
        offlineSale: { constants: { 63: 'OFFLINE' } },
      },
    },
  },
};

describe('the operations of a host', { concurrency: 4 }, () => {
  for (const [name, { base, members }] of Object.entries(tables)) {
    test(`${name}: payments agree with the host`, async (t) => {
      const setup = await createOrganizationOnHost(t, await ownTable(name, base, members));
      await sellRefundAndCapture(setup);
      const originals = () => setup.host.ledger().originals;
      const last = () => originals().at(-1);

      const cancelled = (await sell(setup, { amount: 800, captureMode: 'Deferred' })).body;
      await act(setup, cancelled.transactionId, 'cancel', { cancelReason: 'Functional' });
      assert.deepEqual([last()?.approved, last()?.held], [800, 0]);

      const cashback = await sell(setup, {
        amount: 5100,
        amounts: { tip: 100, cashback: 1000 },
        entryMode: 'MagStripe',
        instrument: { track2: '4111111111111111=30121010000000000' },
      });
      assert.equal(cashback.body.state, 'Captured', cashback.text);
      await act(setup, cashback.body.transactionId, 'refund', { amount: 5100 });
      assert.equal(last()?.refunded, 5100);

      const verified = await sell(setup, { amount: 0, purpose: 'AccountVerification' });
      assert.equal(verified.body.response?.code, '00', verified.text);

      const unanswered = await sell(setup, { amount: 9091, instrument: silentCard });
      assert.equal(unanswered.body.state, 'Reversing', unanswered.text);
      await assertAgreement(setup);
      const [reversed] = originals().filter(({ pan }) => pan === '400000******4202');
      assert.deepEqual([reversed?.approved, reversed?.held], [9091, 0]);
    });
  }
});

/** Fields of a host that the table builds: tags in 63, a bitmap in 126, the order in 62. */
const builtFields = {
  omit: [48],
  messages: {
    fields: {
      44: { content: 'ans', size: 'LL', max: 25 },
      62: { content: 'ans', size: 'LLL', max: 64 },
      63: {
        ...text(200),
        subFields: {
          type: 'Tags',
          tagSize: 2,
          lengthSize: 3,
          parts: {
            NM: { name: 'Merchant', content: 'ans', max: 100 },
            ST: { name: 'Original', content: 'n', max: 12 },
          },
        },
      },
      126: {
        ...text(200),
        subFields: {
          type: 'Bitmap',
          bitmap: 'hexAscii',
          bitmapBytes: 1,
          parts: {
            1: { name: 'Security code', content: 'n', size: 'LL', max: 4 },
            2: { name: 'Postal code', content: 'ans', size: 'LL', max: 9 },
            3: { name: 'House number', content: 'ans', size: 'LL', max: 10 },
          },
        },
      },
      120: text(40),
      121: text(40),
      122: text(40),
    },
  },
  contents: {
    62: 'orderId',
    63: { parts: { NM: { source: 'merchantName', maxLength: 40 }, ST: 'originalStan' } },
    126: { parts: { 1: 'securityCode', 2: 'postalCode', 3: 'houseNumber' } },
  },
  responseContents: {
    44: 'addressResult',
    120: 'receiptText',
    121: 'networkReference',
    122: 'balance',
  },
};

// Spec: ACQ-1
test('built fields reach the host, and data of its responses the transaction', async (t) => {
  const table = await ownTable('built-fields', 'iso1987-ascii', builtFields);
  const setup = await createOrganizationOnHost(t, table);
  await sellRefundAndCapture(setup);
  const sold = await sell(setup, {
    amount: 1500,
    orderChannel: 'TelephoneOrder',
    zipCode: '12345',
    houseNumber: '9',
    order: { orderId: 'A-4711' },
  });
  const { addressVerification, acquirerData, receipt } = sold.body;
  assert.equal(receipt?.cardholder.acquirerText, 'APPROVED', sold.text);
  assert.equal(addressVerification?.raw, 'Z', sold.text);
  assert.deepEqual(acquirerData, {
    receiptText: 'APPROVED',
    networkReference: `N${sold.body.authorizationCode}`,
    balance: 1500,
  });
  const read = await call(setup, 'GET', `/${sold.body.transactionId}`);
  assert.deepEqual(read.body.acquirerData, acquirerData);
  await act(setup, sold.body.transactionId, 'refund', { amount: 500 });
  await assertAgreement(setup);
});
