// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// A one-time approval code is used exactly when its refund is stored, also after database failures.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { defined } from '@switchyard/contract';
import {
  type AttachedAcquirer,
  attachHttpAcquirer,
  contractTermsOnLink,
  waitUntilAvailable,
} from '../../support/acquirers/test-http-acquirer.ts';
import { assertProblem } from '../../support/assert-problem-response.ts';
import {
  type BreakingDatabase,
  type BreakMoment,
  openBreakingDatabase,
} from '../../support/database/breaking-database-connection.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import {
  type SecondProcess,
  startSecondProcess,
} from '../../support/processes/second-server-process.ts';
import {
  createTestOrganization,
  type TestMerchant,
  type TestOrganization,
} from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();
const sales = '/payment/v1/transactions';
const codes = '/payment/v1/approval-codes';
const useCode = 'UPDATE approval_codes SET uses = uses + 1';
const freeCode = 'UPDATE approval_codes SET uses = uses - 1';

let setup: TestOrganization;
let bank: AttachedAcquirer;
let bankMerchant: TestMerchant;
let wire: BreakingDatabase;
/** Only this process loses its database connections; the test platform keeps its own. */
let broken: SecondProcess;

before(async () => {
  setup = await createOrganization();
  const other = await createTestOrganization();
  bank = await attachHttpAcquirer(other, 'bank');
  bankMerchant = await other.createMerchant(contractTermsOnLink(bank.linkId));
  wire = await openBreakingDatabase();
  broken = await startSecondProcess(setup, { database: wire.database });
  await untilBankIsReady();
});

after(async () => {
  await broken.stop();
  await wire.close();
});

async function untilBankIsReady(): Promise<void> {
  bank.server.setReady(true);
  await waitUntilAvailable({ ...setup, client: broken.client }, bankMerchant.token);
}

type Members = Record<string, unknown>;

async function saleAndCode(merchant = setup.merchant) {
  const call = (method: string, path: string, body?: Members, client = broken.client) =>
    client.call(method, path, { token: merchant.token, ...defined({ body }) });
  const sale = await call('POST', `${sales}/process`, keyedSale());
  assert.equal(sale.status, 200, sale.text);
  const code = await call('POST', codes, { name: 'Shift lead', oneTime: true });
  return {
    approvalCode: code.body.code as string,
    refund: (body: Members) => call('POST', `${sales}/${sale.body.transactionId}/refund`, body),
    async statusAndUses() {
      const path = `${codes}/${code.body.approvalCodeId}`;
      const { status, uses } = (await call('GET', path, undefined, setup.client)).body;
      return [status, uses];
    },
  };
}

for (const moment of ['before the statement', 'before COMMIT'] as const satisfies BreakMoment[]) {
  test(`an approval code of a refund is free again if the database fails ${moment}`, async () => {
    const { approvalCode, refund, statusAndUses } = await saleAndCode();
    wire.breakAt(moment, useCode);
    const lost = await refund({ amount: 100, clientOperationId: randomUUID(), approvalCode });
    assert.ok(wire.hasBroken());
    assertProblem(lost, { code: 'database_unavailable', outcome: 'Unknown' });
    assert.deepEqual(await statusAndUses(), ['Active', 0]);
    const other = await refund({ amount: 100, clientOperationId: randomUUID(), approvalCode });
    assert.equal(other.status, 200, other.text);
    assert.deepEqual(await statusAndUses(), ['Used', 1]);
  });
}

test('an approval code is used once, by the refund whose COMMIT was done but not confirmed', async () => {
  const { approvalCode, refund, statusAndUses } = await saleAndCode();
  const body = { amount: 100, clientOperationId: randomUUID(), approvalCode };
  wire.breakAt('after COMMIT', useCode);
  const lost = await refund(body);
  assert.ok(wire.hasBroken());
  assertProblem(lost, { code: 'database_unavailable', outcome: 'Unknown' });
  assert.deepEqual(await statusAndUses(), ['Used', 1]);
  const other = await refund({ amount: 100, clientOperationId: randomUUID(), approvalCode });
  assertProblem(other, { code: 'approval_code_used', pointer: '/approvalCode' });
  const done = await until(async () => {
    const again = await refund(body);
    return again.body.operation?.status === 'Succeeded' ? again : undefined;
  }, 'the refund to be sent after all');
  assert.equal(done.body.refundedAmount, 100);
  assert.deepEqual(await statusAndUses(), ['Used', 1]);
});

test('an approval code of an unsent refund is free after that result is stored', async () => {
  const { approvalCode, refund, statusAndUses } = await saleAndCode(bankMerchant);
  const body = { amount: 100, clientOperationId: randomUUID(), approvalCode };
  bank.server.setReady(false);
  wire.breakAt('after COMMIT', freeCode);
  const lost = await refund(body);
  assert.ok(wire.hasBroken());
  assertProblem(lost, { code: 'database_unavailable', outcome: 'Unknown' });
  assert.deepEqual(await statusAndUses(), ['Active', 0]);
  assert.equal((await refund(body)).body.code, 'not_sent');
  assert.deepEqual(await statusAndUses(), ['Active', 0]);
  await untilBankIsReady();
});

test('an approval code stays used while its refund is stored and sent later', async () => {
  const { approvalCode, refund, statusAndUses } = await saleAndCode(bankMerchant);
  const body = { amount: 100, clientOperationId: randomUUID(), approvalCode };
  bank.server.setReady(false);
  wire.breakAt('before COMMIT', freeCode);
  const lost = await refund(body);
  assert.ok(wire.hasBroken());
  assertProblem(lost, { code: 'database_unavailable', outcome: 'Unknown' });
  assert.deepEqual(await statusAndUses(), ['Used', 1]);
  await untilBankIsReady();
  await until(async () => {
    const { operation } = (await refund(body)).body;
    return operation?.status === 'Succeeded' ? true : undefined;
  }, 'the refund to be sent after all');
  assert.deepEqual(await statusAndUses(), ['Used', 1]);
});

test('the ledgers of platform and host agree', assertLedgersAgree);
