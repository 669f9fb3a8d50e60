// Two processes run the same operation at the same moment, after neither has found the other's row.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { CompiledQuery } from 'kysely';
import { assertProblem } from '../../support/assert-problem-response.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import type { Client, HttpResponse } from '../../support/https-client.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { startSecondProcess } from '../../support/processes/second-server-process.ts';
import type { TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';
import { bookkeeping } from '../ledger/check-ledger-after-tests.ts';

const { scene, agree } = bookkeeping();
const sales = '/payment/v1/transactions';

type Members = Record<string, unknown>;

async function opened() {
  const on = await scene();
  const other = await startSecondProcess(on);
  const post = (path: string, body: Members, client: Client = on.client) =>
    client.call('POST', path, { token: on.merchant.token, body });
  return {
    on,
    other,
    post,
    async sold(members: Members = {}): Promise<string> {
      return (await post(`${sales}/process`, keyedSale(members))).body.transactionId;
    },
  };
}

/** Locks the transactions until every request waits for the lock or has a response. */
async function atOnce(
  ids: readonly string[],
  ...asked: readonly (() => Promise<HttpResponse>)[]
): Promise<HttpResponse[]> {
  const database = await testDatabase();
  let answered = 0;
  const answers = await database.transaction(async (trx) => {
    const hold = 'SELECT 1 FROM transactions WHERE transaction_id = ANY ($1::uuid[]) FOR UPDATE';
    await trx.executeQuery(CompiledQuery.raw(hold, [ids]));
    const all = asked.map(async (ask) => {
      const answer = await ask();
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

const refundedIn = (on: TestOrganization) =>
  on.host.ledger().totals.reduce((sum, each) => {
    return each.merchant === on.merchant.merchantNumber ? sum + each.refunds : sum;
  }, 0);

test('the same refund with a one-time code is done once, and told by both', async (t) => {
  const { on, other, post, sold } = await opened();
  t.after(() => other.stop());
  const id = await sold();
  const made = await post('/payment/v1/approval-codes', { name: 'Shift lead', oneTime: true });
  const { code: approvalCode } = made.body;
  const body = { amount: 100, clientOperationId: randomUUID(), approvalCode };
  const answers = await atOnce(
    [id],
    () => post(`${sales}/${id}/refund`, body),
    () => post(`${sales}/${id}/refund`, body, other.client),
  );
  for (const { status, body: told, text } of answers) {
    assert.equal(status, 200, text);
    assert.deepEqual(told.operation, answers[0]?.body.operation);
  }
  const replays = answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true');
  assert.equal(replays.length, 1);
  assert.equal(refundedIn(on), 1);
});

test('by web one identifier is a refund or a cancel, and of two transactions that of one', async (t) => {
  const { on, other, post, sold } = await opened();
  t.after(() => other.stop());
  const captured = await sold();
  const held = await sold({ captureMode: 'Deferred' });
  const body = { clientOperationId: randomUUID() };
  const paths = [`${sales}/${captured}/refundbyweb`, `${sales}/${held}/refundbyweb`] as const;
  const answers = await atOnce(
    [captured, held],
    () => post(paths[0], body),
    () => post(paths[1], body, other.client),
  );
  const refused = answers.filter(({ status }) => status !== 200);
  assert.equal(refused.length, 1, answers.map(({ text }) => text).join('\n'));
  for (const answer of refused) {
    assertProblem(answer, { code: 'client_id_reused', pointer: '/transactionId' });
  }
  const states = await Promise.all(
    [captured, held].map(async (id) => {
      const { body: found } = await on.client.call('GET', `${sales}/${id}`, {
        token: on.merchant.token,
      });
      return found.operations.length;
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

test('all of this ends in agreement with the host', agree);
