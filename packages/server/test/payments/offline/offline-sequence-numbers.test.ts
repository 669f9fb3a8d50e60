// A sequence number of a terminal is one sale, even if it is uploaded again; the server reports
// missing numbers.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { assertProblem, countRows } from '../../support/assert-problem-response.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { until } from '../../support/wait-for-result.ts';
import { bookkeeping } from '../ledger/check-ledger-after-tests.ts';
import {
  ago,
  base,
  call,
  gapsOf,
  hourMs,
  inState,
  type Members,
  missingOf,
  offlineData,
  offlineSale,
  originalsOf,
  stored,
  typesOf,
  upload,
} from './offline-uploads.ts';

const { scene, agree } = bookkeeping();

const uploadedBefore = { code: 'offline_sale_already_uploaded', outcome: 'Processed' } as const;

describe('the number of a terminal', { concurrency: 8 }, () => {
  test('is one sale, under whichever identifier and however often it comes', async () => {
    const on = await scene();
    const of = { authorizedAt: ago(hourMs), terminalSequence: 7 };
    const bodies = Array.from({ length: 12 }, () => offlineSale(on, of));
    const answers = await Promise.all(bodies.map((body) => call(on, 'POST', '/process', body)));
    const firsts = answers.filter(({ status }) => status === 200);
    assert.equal(firsts.length, 1);
    const [{ body: first } = assert.fail()] = firsts;
    const { transactionId, clientTransactionId } = first;
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assertProblem(answer, uploadedBefore);
      const { state: _state, ...named } = answer.body.transaction;
      assert.deepEqual(named, { transactionId, clientTransactionId });
    }
    await inState(on, transactionId, 'Captured');
    for (const body of bodies) {
      const again = await call(on, 'POST', '/process', body);
      if (body['clientTransactionId'] === clientTransactionId) {
        assert.deepEqual([again.body.state, again.body.answeredState], ['Captured', 'Stored']);
        assert.equal(again.headers['idempotent-replayed'], 'true');
      } else assertProblem(again, uploadedBefore);
    }
    assert.equal(originalsOf(on, first.retrievalReferenceNumber).length, 1);
    const { transactions } = await countRows(on.organizationId);
    assert.equal(transactions, 1);
  });

  test('takes the other identifiers of its uploads, so that nothing is charged under them', async () => {
    const on = await scene();
    const of = { authorizedAt: ago(hourMs) };
    const first = await stored(on, of);
    const { clientTransactionId } = offlineSale(on);
    const again = await upload(on, of, { clientTransactionId });
    assertProblem(again, uploadedBefore);
    const { transactionId } = first;
    for (const answer of [
      await upload(on, of, { clientTransactionId }),
      await upload(on, { terminalSequence: 2 }, { clientTransactionId }),
      await call(on, 'POST', '/process', keyedSale({ clientTransactionId })),
      await call(on, 'POST', '/process', keyedSale({ clientTransactionId, currency: 'GBP' })),
      await call(on, 'GET', `/${clientTransactionId}`),
      await call(on, 'POST', `/${clientTransactionId}/refund`, {}),
    ]) {
      assertProblem(answer, uploadedBefore);
      assert.equal(answer.body.transaction.transactionId, transactionId);
    }
    assert.equal((await countRows(on.organizationId))['transactions'], 1);
    const other = { token: on.otherMerchant.token, body: keyedSale({ clientTransactionId }) };
    const elsewhere = await on.client.call('POST', `${base}/process`, other);
    assert.equal(elsewhere.status, 200, elsewhere.text);
  });

  test('with another sale behind it is refused, naming what differs and never what it is', async () => {
    const on = await scene();
    const of = { authorizedAt: ago(hourMs) };
    const first = await stored(on, of);
    const before = await countRows(on.organizationId);
    const card = { number: '5555555555554444', expiryMonth: 12, expiryYear: 2030 };
    const cases: [Members, Members, string][] = [
      [of, { amount: 1235 }, '/amount'],
      [of, { currency: 'USD' }, '/currency'],
      [of, { instrument: { card } }, '/instrument'],
      [{ authorizedAt: ago(2 * hourMs) }, {}, '/offlineData/authorizedAt'],
      [{ ...of, authorizationCode: 'OTHER' }, {}, '/offlineData/authorizationCode'],
    ];
    for (const [data, members, pointer] of cases) {
      const answer = await upload(on, data, members);
      assertProblem(answer, { code: 'offline_sequence_reused', pointer });
      assert.equal(answer.body.transaction.transactionId, first.transactionId);
      assert.equal(answer.body.transaction.clientTransactionId, first.clientTransactionId);
    }
    const now = await countRows(on.organizationId);
    assert.deepEqual([now['transactions'], now['vault_cards']], [1, before['vault_cards']]);
  });

  test('is counted by each device, and by each hardware where it is named', async () => {
    const on = await scene();
    const of = { authorizedAt: ago(hourMs) };
    const [, second] = on.merchant.deviceIds;
    const ids = await Promise.all([
      stored(on, of),
      stored(on, { ...of, serialNumber: '10000001' }, { amount: 2000 }),
      stored(on, { ...of, serialNumber: '10000002' }, { amount: 3000 }),
      stored(on, of, { deviceId: second, amount: 4000 }),
    ]);
    assert.equal(new Set(ids.map(({ transactionId }) => transactionId)).size, 4);
    const { body } = await upload(on, { ...of, serialNumber: '10000002' }, { amount: 3000 });
    assert.equal(body.transaction.transactionId, ids[2]?.transactionId);
  });

  test('is not charged again where another terminal, or none, is named the second time', async () => {
    const on = await scene();
    const of = { authorizedAt: ago(hourMs) };
    const [, second] = on.merchant.deviceIds;
    const first = await stored(on, of);
    for (const [data, members] of [
      [{ ...of, serialNumber: '10000001' }, {}],
      [of, { deviceId: second }],
      [of, { deviceId: undefined }],
    ] as const) {
      const again = await upload(on, data, members);
      assertProblem(again, uploadedBefore);
      assert.equal(again.body.transaction.transactionId, first.transactionId);
    }
    assert.equal((await countRows(on.organizationId))['transactions'], 1);
    assert.deepEqual(await missingOf(on), []);
  });

  test('of no device tells the same sale again, and keeps different ones apart', async () => {
    const on = await scene();
    const of = { authorizedAt: ago(hourMs) };
    const none = { deviceId: undefined };
    const first = await stored(on, of, none);
    const again = await upload(on, of, none);
    assertProblem(again, uploadedBefore);
    assert.equal(again.body.transaction.transactionId, first.transactionId);
    const other = await stored(on, of, { ...none, amount: 4321 });
    assert.notEqual(other.transactionId, first.transactionId);
    await stored(on, { ...of, terminalSequence: 9 }, none);
    assert.deepEqual(await missingOf(on), []);
  });

  test('the identifier of the client stays its own', async () => {
    const on = await scene();
    const body = offlineSale(on);
    await call(on, 'POST', '/process', body);
    const other = await call(on, 'POST', '/process', {
      ...body,
      offlineData: offlineData({ terminalSequence: 2 }),
    });
    assertProblem(other, { code: 'client_id_reused', pointer: '/offlineData' });
    const online = keyedSale();
    await call(on, 'POST', '/process', online);
    const { clientTransactionId } = online;
    const taken = await upload(on, { terminalSequence: 3 }, { clientTransactionId });
    assert.equal(taken.body.code, 'client_id_reused');
    assert.deepEqual(await missingOf(on), []);
  });

  test('a request that is cut in half stores nothing', async () => {
    const on = await scene();
    const before = await countRows(on.organizationId);
    const text = JSON.stringify(offlineSale(on));
    const half = on.client.call('POST', `${base}/process`, {
      token: on.merchant.token,
      raw: text.slice(0, text.length / 2),
    });
    assertProblem(await half, { code: 'malformed_json' });
    const gone = new AbortController();
    const lost = on.client.call('POST', `${base}/process`, {
      token: on.merchant.token,
      raw: text.slice(0, text.length / 2),
      headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
      signal: gone.signal,
    });
    gone.abort();
    await assert.rejects(lost);
    assert.deepEqual(await countRows(on.organizationId), before);
  });
});

describe('gaps', { concurrency: 4 }, () => {
  test('are what a small model says, in whatever order and however often uploads come', async () => {
    const on = await scene();
    const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);
    process.stdout.write(`offline gaps: seed ${seed}\n`);
    let state = seed + 1;
    const next = (below: number) => {
      state = (state * 48_271) % 2_147_483_647;
      return state % below;
    };
    const authorizedAt = ago(hourMs);
    const seen = new Set<number>();
    for (let round = 0; round < 40; round += 1) {
      const terminalSequence = 20 + next(30);
      const clientTransactionId = `offline-${terminalSequence}`;
      const answer = await upload(on, { authorizedAt, terminalSequence }, { clientTransactionId });
      assert.equal(answer.status, 200, answer.text);
      seen.add(terminalSequence);
      const [first, last] = [Math.min(...seen), Math.max(...seen)];
      const expected: number[][] = [];
      for (let number = first; number <= last; number += 1) {
        if (seen.has(number)) continue;
        const open = expected.at(-1);
        if (open?.[1] === number - 1) open[1] = number;
        else expected.push([number, number]);
      }
      assert.deepEqual(await missingOf(on), expected, `seed ${seed}, round ${round}`);
    }
  });

  test('are told once, at the upload behind them, of what is still missing then', async () => {
    const on = await scene();
    const [deviceId] = on.merchant.deviceIds;
    await stored(on, { terminalSequence: 1 });
    const five = await stored(on, { terminalSequence: 5 });
    await stored(on, { terminalSequence: 3 });
    const [gap, other, ...more] = (await gapsOf(on, `?deviceId=${deviceId}`)).items;
    assert.equal(more.length, 0);
    assert.deepEqual([gap?.['firstMissing'], other?.['firstMissing']], [2, 4]);
    assert.equal(gap?.['transactionId'], five.transactionId);
    assert.deepEqual([gap?.['deviceId'], gap?.['missing']], [deviceId, 1]);
    assert.deepEqual(
      [gap?.['merchantId'], gap?.['storeId']],
      [on.merchant.merchantId, on.merchant.storeId],
    );
    const database = await testDatabase();
    const dueNow = () =>
      database.query(
        `UPDATE jobs SET due_at = now()
          WHERE organization_id = $1 AND kind = 'payments.report-offline-gap'`,
        [on.organizationId],
      );
    await dueNow();
    const told = await until(async () => {
      const { body } = await call(on, 'GET', `/${five.transactionId}`);
      return body.events.find(({ type }: { type: string }) => type === 'offline.gap_detected');
    }, 'the event');
    const missing = [
      { first: 2, last: 2 },
      { first: 4, last: 4 },
    ];
    assert.deepEqual(told.data.missing, missing);
    await stored(on, { terminalSequence: 4 });
    await stored(on, { terminalSequence: 2 });
    assert.deepEqual((await gapsOf(on)).items, []);
    const late = await stored(on, { terminalSequence: 7 });
    await stored(on, { terminalSequence: 6 });
    await dueNow();
    await until(async () => {
      const jobs = await database.query(
        "SELECT 1 FROM jobs WHERE organization_id = $1 AND kind = 'payments.report-offline-gap'",
        [on.organizationId],
      );
      return jobs.length === 0 ? true : undefined;
    }, 'the jobs to end');
    const { body } = await call(on, 'GET', `/${late.transactionId}`);
    assert.ok(!typesOf(body).includes('offline.gap_detected'));
  });

  test('are listed page by page, each merchant and store its own', async () => {
    const on = await scene();
    const sequences = [1, 3, 5, 7];
    for (const terminalSequence of sequences) await stored(on, { terminalSequence });
    const first = await gapsOf(on, '?limit=2');
    assert.equal(first.items.length, 2);
    const second = await gapsOf(on, `?limit=2&cursor=${first.nextCursor}`);
    assert.deepEqual([second.items.length, second.nextCursor], [1, null]);
    assert.deepEqual((await gapsOf(on, '', on.otherMerchant.token)).items, []);
    const foreign = `/payment/v1/offline-gaps?merchantId=${on.otherMerchant.merchantId}`;
    const refused = await on.client.call('GET', foreign, { token: on.merchant.token });
    assertProblem(refused, { code: 'entity_out_of_scope' });
    assert.equal((await gapsOf(on, `?storeId=${on.merchant.storeId}`)).items.length, 3);
    assert.equal((await gapsOf(on, `?storeId=${randomUUID()}`)).items.length, 0);
  });
});

test('the books of both sides agree', agree);
