// Whole run: many requests at the same time, so that a race shows.
// Two processes run the same operation at the same moment, after neither has found the other's row.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { assertProblem } from '../../support/assert-problem-response.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import type { Client, HttpResponse } from '../../support/https-client.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { startSecondProcess } from '../../support/processes/second-server-process.ts';
import type { TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();
const sales = '/payment/v1/transactions';

type Members = Record<string, unknown>;

async function createOrganizationWithSale() {
  const setup = await createOrganization();
  const other = await startSecondProcess(setup);
  const post = (path: string, body: Members, client: Client = setup.client) =>
    client.call('POST', path, { token: setup.merchant.token, body });
  return {
    setup,
    other,
    post,
    async sold(members: Members = {}): Promise<string> {
      return (await post(`${sales}/process`, keyedSale(members))).body.transactionId;
    },
  };
}

/** Locks the transactions until every request waits for the lock or has a response. */
async function sendAtOnce(
  ids: readonly string[],
  ...requests: readonly (() => Promise<HttpResponse>)[]
): Promise<HttpResponse[]> {
  const database = await testDatabase();
  let answered = 0;
  const answers = await database.transaction(async (trx) => {
    const lockStatement =
      'SELECT 1 FROM transactions WHERE transaction_id = ANY ($1::uuid[]) FOR UPDATE';
    await trx.query(lockStatement, [ids]);
    const all = requests.map(async (sendRequest) => {
      const answer = await sendRequest();
      answered += 1;
      return answer;
    });
    await until(async () => {
      const rows = await database.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
          AND query LIKE '%UPDATE transactions%'`,
      );
      return rows.length + answered >= all.length ? true : undefined;
    }, 'both to wait');
    return { all };
  });
  return Promise.all(answers.all);
}

const refundedIn = (setup: TestOrganization) =>
  setup.host.ledger().totals.reduce((sum, each) => {
    return each.merchant === setup.merchant.merchantNumber ? sum + each.refunds : sum;
  }, 0);

// Spec: CARD-48
test('the same refund with a one-time code is done once, and both responses report it', async (t) => {
  const { setup, other, post, sold } = await createOrganizationWithSale();
  t.after(() => other.stop());
  const id = await sold();
  const made = await post('/payment/v1/approval-codes', { name: 'Shift lead', oneTime: true });
  const { code: approvalCode } = made.body;
  const body = { amount: 100, clientOperationId: randomUUID(), approvalCode };
  const answers = await sendAtOnce(
    [id],
    () => post(`${sales}/${id}/refund`, body),
    () => post(`${sales}/${id}/refund`, body, other.client),
  );
  for (const { status, body: replayedBody, text } of answers) {
    assert.equal(status, 200, text);
    assert.deepEqual(replayedBody.operation, answers[0]?.body.operation);
  }
  const replays = answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true');
  assert.equal(replays.length, 1);
  assert.equal(refundedIn(setup), 1);
});

// Spec: CARD-48
test('by web one identifier is one refund or one cancel, also across two transactions', async (t) => {
  const { setup, other, post, sold } = await createOrganizationWithSale();
  t.after(() => other.stop());
  const captured = await sold();
  const heldSale = await sold({ captureMode: 'Deferred' });
  const body = { clientOperationId: randomUUID() };
  const paths = [`${sales}/${captured}/refundbyweb`, `${sales}/${heldSale}/refundbyweb`] as const;
  const answers = await sendAtOnce(
    [captured, heldSale],
    () => post(paths[0], body),
    () => post(paths[1], body, other.client),
  );
  const refused = answers.filter(({ status }) => status !== 200);
  assert.equal(refused.length, 1, answers.map(({ text }) => text).join('\n'));
  for (const answer of refused) {
    assertProblem(answer, { code: 'client_id_reused', pointer: '/transactionId' });
  }
  const states = await Promise.all(
    [captured, heldSale].map(async (id) => {
      const { body: transaction } = await setup.client.call('GET', `${sales}/${id}`, {
        token: setup.merchant.token,
      });
      return transaction.operations.length;
    }),
  );
  assert.deepEqual(states.toSorted(), [0, 1]);
  // The replays have the same results.
  const again = await Promise.all(paths.map((path) => post(path, body, other.client)));
  assert.deepEqual(
    again.map(({ status }) => status),
    answers.map(({ status }) => status),
  );
});

test('the ledgers of platform and host agree', assertLedgersAgree);
