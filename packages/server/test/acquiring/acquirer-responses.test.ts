// Whole run: each host has ledgers to compare.
// Hosts whose responses do not repeat the request as it is, and hosts that assign the retrieval reference number.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { defined } from '@switchyard/contract';
import type { ResponseChanges } from '@switchyard/simulators';
import {
  acknowledge,
  authorize,
  createClearingFile,
  fileCaptureTerms,
  readFileContent,
} from '../payments/clearing/clearing-merchant.ts';
import { assertAgreement } from '../payments/ledger/ledger-invariants.ts';
import {
  act,
  createOrganizationOnHost,
  ownTable,
  sell,
  sellRefundAndCapture,
} from '../support/acquirers/organization-on-host.ts';
import { call, waitForState } from '../support/payment-calls.ts';
import type { TestOrganization } from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';

type Case = {
  title: string;
  name: string;
  base?: string;
  members: object;
  responses?: ResponseChanges;
};

const ignore = (...fields: number[]) =>
  Object.fromEntries(fields.map((field) => [field, 'Ignore']));

/** A terminal and a merchant number of variable length, so that a host can shorten and fill them. */
const variableNumbers = {
  fields: {
    '41': { content: 'ans', size: 'LL', max: 12 },
    '42': { content: 'ans', size: 'LL', max: 20 },
  },
};

const cases: readonly Case[] = [
  {
    title: 'omits fields 3, 41 and 42',
    name: 'omitting-host',
    members: { correlation: { fields: [37], echo: ignore(3, 41, 42) } },
  },
  {
    title: 'omits field 41 and assigns field 37',
    name: 'trace-only-host',
    members: {
      correlation: { fields: [11], echo: ignore(37, 41) },
      traceNumber: { uniqueBy: 'Link' },
      retrievalReference: { assignedBy: 'Host' },
    },
  },
  {
    title: 'fills in the account type of field 3',
    name: 'account-type-host',
    members: { correlation: { echo: { '3': 'PrefixEqual' } } },
  },
  {
    title: 'shortens fields 41 and 42',
    name: 'shortening-host',
    members: {
      correlation: { fields: [11, 37], echo: { '41': 'PrefixEqual', '42': 'PrefixEqual' } },
    },
    responses: { shorten: [41, 42] },
  },
  {
    title: 'fills fields 41 and 42 with blanks',
    name: 'padding-host',
    base: 'iso1987-binary',
    members: {
      messages: variableNumbers,
      correlation: { echo: { '41': 'EqualTrimmed', '42': 'EqualTrimmed' } },
    },
    responses: { pad: [41, 42] },
  },
  {
    title: 'assigns field 37 instead of the number of the platform',
    name: 'numbering-host',
    base: 'iso1993-ascii',
    members: {
      correlation: { echo: ignore(37) },
      retrievalReference: { assignedBy: 'Host' },
    },
  },
  {
    title: 'assigns field 37, and gets none before',
    name: 'sole-numbering-host',
    members: {
      correlation: { echo: ignore(37) },
      retrievalReference: { assignedBy: 'Host', inRequests: 'IfAssigned' },
    },
  },
];

async function createOn(
  t: TestContext,
  { name, base, members, responses }: Case,
  terms: Record<string, unknown> = {},
) {
  const table = await ownTable(name, base ?? 'iso1987-ascii', members);
  return createOrganizationOnHost(t, table, { terms, ...defined({ responses }) });
}

const readTransaction = async (setup: TestOrganization, id: string) =>
  (await call(setup, 'GET', `/${id}`)).body;

describe('responses that differ from the request', { concurrency: 4 }, () => {
  for (const each of cases)
    test(`a host that ${each.title}: sales, captures, refunds and cancels agree`, async (t) => {
      await sellRefundAndCapture(await createOn(t, each));
    });

  // Spec: ACQ-18
  test('without the member in the table such a host approves nothing, and each sale is reversed', async (t) => {
    const table = await ownTable('strict-table', 'iso1987-ascii', {});
    for (const responses of [
      { omit: [42] },
      { fillsAccountType: true },
      { assignsRetrievalReference: true },
    ]) {
      const setup = await createOrganizationOnHost(t, table, { responses });
      const { body, text } = await sell(setup, { amount: 5000 });
      assert.equal(body.state, 'Reversing', text);
      assert.equal(body.response.reason, 'InvalidResponse', text);
      // The response to the reversal fails the check, too: the platform repeats the reversal.
      const isReversed = () => setup.host.ledger().totals[0]?.reversed === 5000 || undefined;
      await until(isReversed, `the reversal at the host, ${JSON.stringify(responses)}`);
      assert.equal(setup.host.ledger().totals[0]?.net, 0);
    }
  });
});

describe('a host that assigns the retrieval reference number', { concurrency: 4 }, () => {
  const [numbering, soleNumbering] = cases.slice(-2);

  for (const each of [numbering, soleNumbering]) {
    assert.ok(each);
    test(`${each.name}: its number is stored, shown, and names the original`, async (t) => {
      const setup = await createOn(t, each);
      const sold = (await sell(setup, { amount: 5000 })).body;
      assert.match(sold.retrievalReferenceNumber, /^H\d{11}$/);
      assert.equal(sold.receipt.merchant.retrievalReferenceNumber, sold.retrievalReferenceNumber);
      const stored = await readTransaction(setup, sold.transactionId);
      assert.equal(stored.retrievalReferenceNumber, sold.retrievalReferenceNumber);
      // The simulated host finds the original of a refund only by its own number.
      const refund = await act(setup, sold.transactionId, 'refund', { amount: 1200 });
      const [original] = setup.host.ledger().originals.slice(-1);
      assert.deepEqual(
        [original?.rrn, original?.refunded],
        [sold.retrievalReferenceNumber, 1200],
        refund.text,
      );
      const { receipt } = refund.body;
      assert.match(receipt.merchant.retrievalReferenceNumber, /^H\d{11}$/);
      assert.notEqual(receipt.merchant.retrievalReferenceNumber, sold.retrievalReferenceNumber);
      await assertAgreement(setup);
    });

    test(`${each.name}: a sale without a response is reversed without a number of the host`, async (t) => {
      const setup = await createOn(t, each);
      const { body } = await sell(setup, { amount: 9091 });
      const reversed = await waitForState(setup, body.transactionId, 'Reversed');
      assert.match(reversed.retrievalReferenceNumber, /^\d{12}$/);
      const [original] = setup.host.ledger().originals.slice(-1);
      assert.equal(original?.held, 0);
      await assertAgreement(setup);
    });
  }

  test('a line of a clearing file has the number that the host assigned to the authorisation', async (t) => {
    assert.ok(numbering);
    const setup = await createOn(t, numbering, fileCaptureTerms);
    const id = await authorize(setup);
    const held = await readTransaction(setup, id);
    await call(setup, 'POST', `/${id}/capture`, {});
    const { clearingFileId } = await createClearingFile(setup);
    const file = await readFileContent(setup, clearingFileId);
    const [, line = ''] = file.split('\n');
    assert.equal(line.split('|')[16], held.retrievalReferenceNumber);
    assert.match(held.retrievalReferenceNumber, /^H\d{11}$/);
    await acknowledge(setup, clearingFileId, setup.host.clear(file));
    await waitForState(setup, id, 'Captured');
    await assertAgreement(setup);
  });

  // Spec: ACQ-18
  test('a late approval brings the number of the host, and is reversed by it', async (t) => {
    assert.ok(numbering);
    const setup = await createOn(t, numbering);
    const { body } = await sell(setup, { amount: 9092 });
    const late = await until(async () => {
      const stored = await readTransaction(setup, body.transactionId);
      return /^H/.test(stored.retrievalReferenceNumber) ? stored : undefined;
    }, 'the number of the late approval');
    const [original] = setup.host.ledger().originals.slice(-1);
    assert.equal(late.retrievalReferenceNumber, original?.rrn);
    await assertAgreement(setup);
  });
});
