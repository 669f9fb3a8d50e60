// Organisations on a simulated host with a table of its own, and the payments that each host must book as the platform.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { defined } from '@switchyard/contract';
import { type HostTable, readHostTable } from '@switchyard/iso8583';
import { type HostKeys, type ResponseChanges, startAcquirerHost } from '@switchyard/simulators';
import { assertAgreement } from '../../payments/ledger/ledger-invariants.ts';
import { freePorts } from '../free-ports.ts';
import type { HttpResponse } from '../https-client.ts';
import { keyedSale } from '../keyed-sale.ts';
import { call } from '../payment-calls.ts';
import { createTestOrganization, type TestOrganization } from '../test-organization.ts';
import { testPlatform, testTimeoutMs } from '../test-platform.ts';

type Options = {
  table: HostTable;
  keys?: HostKeys;
  responses?: ResponseChanges | undefined;
  ledgerDir: string;
  port?: number;
};

export const startHost = ({ table, keys = {}, responses, ledgerDir, port = 0 }: Options) =>
  startAcquirerHost({
    host: '127.0.0.1',
    port,
    ledgerDir,
    lateMs: testTimeoutMs + 500,
    slowMs: 100,
    dialect: table,
    keys,
    ...defined({ responses }),
  });

/** Writes a host table beside the built-in ones, as an operator does. */
export async function ownTable(name: string, from: string, members: object): Promise<HostTable> {
  const { settings } = await testPlatform();
  const directory = join(settings.dataDir, 'dialects');
  await mkdir(directory, { recursive: true });
  const document = { name, base: from, ...members };
  await writeFile(join(directory, `${name}.json`), JSON.stringify(document));
  return readHostTable(document);
}

/** A host for one test, defined by a table, and an organisation with a link to it. */
export async function createOrganizationOnHost(
  t: TestContext,
  table: HostTable,
  {
    keys = {},
    link = {},
    responses,
    terms = {},
  }: {
    keys?: HostKeys;
    link?: Record<string, unknown>;
    responses?: ResponseChanges;
    terms?: Record<string, unknown>;
  } = {},
): Promise<TestOrganization> {
  const ledgerDir = await mkdtemp(join(tmpdir(), 'switchyard-dialect-'));
  // The link reconnects for a while after the host stops, so no other server may get this port.
  const [port = 0] = await freePorts(1);
  const host = await startHost({ table, keys, responses, ledgerDir, port });
  t.after(async () => {
    await host.stop();
    await rm(ledgerDir, { recursive: true, force: true });
  });
  const dialect = table.name;
  const made = await createTestOrganization(terms, {
    acquirerPort: host.port,
    link: { dialect, ...link },
  });
  return { ...made, host };
}

export const sell = (setup: TestOrganization, members: Record<string, unknown> = {}) =>
  call(setup, 'POST', '/process', keyedSale(members));

export async function act(
  setup: TestOrganization,
  id: string,
  verb: string,
  body: unknown,
): Promise<HttpResponse> {
  const answer = await call(setup, 'POST', `/${id}/${verb}`, body);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.operation.status, 'Succeeded', answer.text);
  return answer;
}

/** Members of a sale that a terminal approved offline. */
const madeOffline = ({ merchant }: TestOrganization) => ({
  amount: 2222,
  deviceId: merchant.deviceIds[0],
  offlineTransaction: true,
  offlineData: {
    authorizedAt: new Date(Date.now() - 60_000).toISOString(),
    authorizationCode: '9A01',
    terminalSequence: 1,
    reason: 'NoConnection',
  },
});

/**
 * A sale, an authorisation with captures and a cancel, refunds, a decline, a partial approval, a
 * timeout, a garbled response.
 */
export async function sellRefundAndCapture(setup: TestOrganization): Promise<void> {
  const sold = (await sell(setup, { amount: 5000, amounts: { tip: 500 } })).body;
  assert.deepEqual([sold.state, sold.response.code], ['Captured', '00']);
  assert.match(sold.authorizationCode, /^[0-9A-Z]{6}$/);
  await act(setup, sold.transactionId, 'refund', { amount: 1200 });
  const heldSale = (await sell(setup, { amount: 8000, captureMode: 'Deferred' })).body;
  assert.equal(heldSale.state, 'Authorized');
  await act(setup, heldSale.transactionId, 'capture', { amount: 3000 });
  await act(setup, heldSale.transactionId, 'cancel', { amount: 1000, cancelReason: 'Functional' });
  await act(setup, heldSale.transactionId, 'capture', { amount: 1500, final: true });
  const moto = await sell(setup, {
    orderChannel: 'TelephoneOrder',
    zipCode: '12345',
    houseNumber: '9',
  });
  assert.equal(moto.body.addressVerification?.raw, 'Z', moto.text);
  const declined = (await sell(setup, { amount: 9051 })).body;
  assert.deepEqual([declined.state, declined.response.code], ['Declined', '51']);
  const part = (await sell(setup, { amount: 9010, partialApproval: true })).body;
  assert.deepEqual([part.authorizedAmount, part.response.code], [4505, '10']);
  for (const amount of [9091, 9095]) {
    const { body } = await sell(setup, { amount });
    assert.equal(body.state, 'Reversing', String(amount));
    // A garbled response is invalid, or a timeout if the server cannot match it to a request.
    const { reason, ...transaction } = body.response;
    assert.deepEqual(transaction, { category: 'Unknown', retry: 'Later' });
    assert.ok(['Timeout', 'InvalidResponse'].includes(reason), reason);
  }
  const offline = (await sell(setup, madeOffline(setup))).body;
  assert.equal(offline.state, 'Stored');
  await assertAgreement(setup);
  const transaction = (await call(setup, 'GET', `/${offline.transactionId}`)).body;
  assert.deepEqual([transaction.state, transaction.response?.code], ['Captured', '00']);
  const [totals] = setup.host.ledger().totals;
  assert.equal(totals?.refunded, 1200);
  assert.equal(totals?.captured, 5000 + 3000 + 1500 + 1234 + 4505 + 2222);
}
