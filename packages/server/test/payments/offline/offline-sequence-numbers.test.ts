// Whole run: many sales are prepared, or a process is started, for each test.
// A sequence number of a terminal is one sale, even if it is uploaded again; the server reports
// missing numbers.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { assertProblem, countRows } from '../../support/assert-problem-response.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import {
  call,
  eventTypesOf,
  originalsOf,
  type RequestFields,
  transactionsPath,
  waitForState,
} from '../../support/payment-calls.ts';
import { until } from '../../support/wait-for-result.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';
import {
  hourMs,
  listGaps,
  listMissingNumbers,
  offlineData,
  offlineSale,
  timeAgo,
  upload,
  uploadStored,
} from './offline-uploads.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();

const uploadedBefore = { code: 'offline_sale_already_uploaded', outcome: 'Processed' } as const;

describe('terminal sequence numbers', { concurrency: 8 }, () => {
  // Spec: CARD-10
  test('a sequence number is one sale, with any identifier and at any number of uploads', async () => {
    const setup = await createOrganization();
    const offlineFields = { authorizedAt: timeAgo(hourMs), terminalSequence: 7 };
    const bodies = Array.from({ length: 12 }, () => offlineSale(setup, offlineFields));
    const answers = await Promise.all(bodies.map((body) => call(setup, 'POST', '/process', body)));
    const firsts = answers.filter(({ status }) => status === 200);
    assert.equal(firsts.length, 1);
    const [{ body: first } = assert.fail()] = firsts;
    const { transactionId, clientTransactionId } = first;
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assertProblem(answer, uploadedBefore);
      const { state: _state, ...withoutState } = answer.body.transaction;
      assert.deepEqual(withoutState, { transactionId, clientTransactionId });
    }
    await waitForState(setup, transactionId, 'Captured');
    for (const body of bodies) {
      const again = await call(setup, 'POST', '/process', body);
      if (body['clientTransactionId'] === clientTransactionId) {
        assert.deepEqual([again.body.state, again.body.answeredState], ['Captured', 'Stored']);
        assert.equal(again.headers['idempotent-replayed'], 'true');
      } else assertProblem(again, uploadedBefore);
    }
    assert.equal(originalsOf(setup, first.retrievalReferenceNumber).length, 1);
    const { transactions } = await countRows(setup.organizationId);
    assert.equal(transactions, 1);
  });

  // Spec: CARD-12
  test('the other identifiers of repeated uploads cannot be used for another charge', async () => {
    const setup = await createOrganization();
    const offlineFields = { authorizedAt: timeAgo(hourMs) };
    const first = await uploadStored(setup, offlineFields);
    const { clientTransactionId } = offlineSale(setup);
    const again = await upload(setup, offlineFields, { clientTransactionId });
    assertProblem(again, uploadedBefore);
    const { transactionId } = first;
    for (const answer of [
      await upload(setup, offlineFields, { clientTransactionId }),
      await upload(setup, { terminalSequence: 2 }, { clientTransactionId }),
      await call(setup, 'POST', '/process', keyedSale({ clientTransactionId })),
      await call(setup, 'POST', '/process', keyedSale({ clientTransactionId, currency: 'GBP' })),
      await call(setup, 'GET', `/${clientTransactionId}`),
      await call(setup, 'POST', `/${clientTransactionId}/refund`, {}),
    ]) {
      assertProblem(answer, uploadedBefore);
      assert.equal(answer.body.transaction.transactionId, transactionId);
    }
    assert.equal((await countRows(setup.organizationId))['transactions'], 1);
    const other = { token: setup.otherMerchant.token, body: keyedSale({ clientTransactionId }) };
    const elsewhere = await setup.client.call('POST', `${transactionsPath}/process`, other);
    assert.equal(elsewhere.status, 200, elsewhere.text);
  });

  test('a sequence number with another sale is refused, and the error names the members but no values', async () => {
    const setup = await createOrganization();
    const offlineFields = { authorizedAt: timeAgo(hourMs) };
    const first = await uploadStored(setup, offlineFields);
    const before = await countRows(setup.organizationId);
    const card = { number: '5555555555554444', expiryMonth: 12, expiryYear: 2030 };
    const cases: [RequestFields, RequestFields, string][] = [
      [offlineFields, { amount: 1235 }, '/amount'],
      [offlineFields, { currency: 'USD' }, '/currency'],
      [offlineFields, { instrument: { card } }, '/instrument'],
      [{ authorizedAt: timeAgo(2 * hourMs) }, {}, '/offlineData/authorizedAt'],
      [{ ...offlineFields, authorizationCode: 'OTHER' }, {}, '/offlineData/authorizationCode'],
    ];
    for (const [data, members, pointer] of cases) {
      const answer = await upload(setup, data, members);
      assertProblem(answer, { code: 'offline_sequence_reused', pointer });
      assert.equal(answer.body.transaction.transactionId, first.transactionId);
      assert.equal(answer.body.transaction.clientTransactionId, first.clientTransactionId);
    }
    const now = await countRows(setup.organizationId);
    assert.deepEqual([now['transactions'], now['vault_cards']], [1, before['vault_cards']]);
  });

  test('each device has its own sequence, and each terminal that the upload names', async () => {
    const setup = await createOrganization();
    const offlineFields = { authorizedAt: timeAgo(hourMs) };
    const [, second] = setup.merchant.deviceIds;
    const ids = await Promise.all([
      uploadStored(setup, offlineFields),
      uploadStored(setup, { ...offlineFields, serialNumber: '10000001' }, { amount: 2000 }),
      uploadStored(setup, { ...offlineFields, serialNumber: '10000002' }, { amount: 3000 }),
      uploadStored(setup, offlineFields, { deviceId: second, amount: 4000 }),
    ]);
    assert.equal(new Set(ids.map(({ transactionId }) => transactionId)).size, 4);
    const { body } = await upload(
      setup,
      { ...offlineFields, serialNumber: '10000002' },
      { amount: 3000 },
    );
    assert.equal(body.transaction.transactionId, ids[2]?.transactionId);
  });

  test('a repeated upload that names another terminal or none is not charged again', async () => {
    const setup = await createOrganization();
    const offlineFields = { authorizedAt: timeAgo(hourMs) };
    const [, second] = setup.merchant.deviceIds;
    const first = await uploadStored(setup, offlineFields);
    for (const [data, members] of [
      [{ ...offlineFields, serialNumber: '10000001' }, {}],
      [offlineFields, { deviceId: second }],
      [offlineFields, { deviceId: undefined }],
    ] as const) {
      const again = await upload(setup, data, members);
      assertProblem(again, uploadedBefore);
      assert.equal(again.body.transaction.transactionId, first.transactionId);
    }
    assert.equal((await countRows(setup.organizationId))['transactions'], 1);
    assert.deepEqual(await listMissingNumbers(setup), []);
  });

  test('without a device a repeated sale is recognised, and different sales stay apart', async () => {
    const setup = await createOrganization();
    const offlineFields = { authorizedAt: timeAgo(hourMs) };
    const withoutDevice = { deviceId: undefined };
    const first = await uploadStored(setup, offlineFields, withoutDevice);
    const again = await upload(setup, offlineFields, withoutDevice);
    assertProblem(again, uploadedBefore);
    assert.equal(again.body.transaction.transactionId, first.transactionId);
    const other = await uploadStored(setup, offlineFields, { ...withoutDevice, amount: 4321 });
    assert.notEqual(other.transactionId, first.transactionId);
    await uploadStored(setup, { ...offlineFields, terminalSequence: 9 }, withoutDevice);
    assert.deepEqual(await listMissingNumbers(setup), []);
  });

  test('the client’s identifier still identifies its sale', async () => {
    const setup = await createOrganization();
    const body = offlineSale(setup);
    await call(setup, 'POST', '/process', body);
    const other = await call(setup, 'POST', '/process', {
      ...body,
      offlineData: offlineData({ terminalSequence: 2 }),
    });
    assertProblem(other, { code: 'client_id_reused', pointer: '/offlineData' });
    const online = keyedSale();
    await call(setup, 'POST', '/process', online);
    const { clientTransactionId } = online;
    const uploaded = await upload(setup, { terminalSequence: 3 }, { clientTransactionId });
    assert.equal(uploaded.body.code, 'client_id_reused');
    assert.deepEqual(await listMissingNumbers(setup), []);
  });

  test('a truncated request stores nothing', async () => {
    const setup = await createOrganization();
    const before = await countRows(setup.organizationId);
    const text = JSON.stringify(offlineSale(setup));
    const half = setup.client.call('POST', `${transactionsPath}/process`, {
      token: setup.merchant.token,
      raw: text.slice(0, text.length / 2),
    });
    assertProblem(await half, { code: 'malformed_json' });
    const abortController = new AbortController();
    const lost = setup.client.call('POST', `${transactionsPath}/process`, {
      token: setup.merchant.token,
      raw: text.slice(0, text.length / 2),
      headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
      signal: abortController.signal,
    });
    abortController.abort();
    await assert.rejects(lost);
    assert.deepEqual(await countRows(setup.organizationId), before);
  });
});

describe('gaps in sequence numbers', { concurrency: 4 }, () => {
  // Spec: CARD-11
  test('gaps equal a small model, at any order and number of uploads', async () => {
    const setup = await createOrganization();
    const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);
    process.stdout.write(`offline gaps: seed ${seed}\n`);
    let state = seed + 1;
    const next = (below: number) => {
      state = (state * 48_271) % 2_147_483_647;
      return state % below;
    };
    const authorizedAt = timeAgo(hourMs);
    const seenNumbers = new Set<number>();
    for (let round = 0; round < 40; round += 1) {
      const terminalSequence = 20 + next(30);
      const clientTransactionId = `offline-${terminalSequence}`;
      const answer = await upload(
        setup,
        { authorizedAt, terminalSequence },
        { clientTransactionId },
      );
      assert.equal(answer.status, 200, answer.text);
      seenNumbers.add(terminalSequence);
      const [first, last] = [Math.min(...seenNumbers), Math.max(...seenNumbers)];
      const expected: number[][] = [];
      for (let number = first; number <= last; number += 1) {
        if (seenNumbers.has(number)) continue;
        const open = expected.at(-1);
        if (open?.[1] === number - 1) open[1] = number;
        else expected.push([number, number]);
      }
      assert.deepEqual(await listMissingNumbers(setup), expected, `seed ${seed}, round ${round}`);
    }
  });

  // Spec: CARD-11
  test('a gap is published once, at the upload after it, with the numbers that are still missing', async () => {
    const setup = await createOrganization();
    const [deviceId] = setup.merchant.deviceIds;
    await uploadStored(setup, { terminalSequence: 1 });
    const five = await uploadStored(setup, { terminalSequence: 5 });
    await uploadStored(setup, { terminalSequence: 3 });
    const [gap, other, ...more] = (await listGaps(setup, `?deviceId=${deviceId}`)).items;
    assert.equal(more.length, 0);
    assert.deepEqual([gap?.['firstMissing'], other?.['firstMissing']], [2, 4]);
    assert.equal(gap?.['transactionId'], five.transactionId);
    assert.deepEqual([gap?.['deviceId'], gap?.['missing']], [deviceId, 1]);
    assert.deepEqual(
      [gap?.['merchantId'], gap?.['storeId']],
      [setup.merchant.merchantId, setup.merchant.storeId],
    );
    const database = await testDatabase();
    const dueNow = () =>
      database.query(
        `UPDATE jobs SET due_at = now()
          WHERE organization_id = $1 AND kind = 'payments.report-offline-gap'`,
        [setup.organizationId],
      );
    await dueNow();
    const gapEvent = await until(async () => {
      const { body } = await call(setup, 'GET', `/${five.transactionId}`);
      return body.events.find(({ type }: { type: string }) => type === 'offline.gap_detected');
    }, 'the event');
    const missing = [
      { first: 2, last: 2 },
      { first: 4, last: 4 },
    ];
    assert.deepEqual(gapEvent.data.missing, missing);
    await uploadStored(setup, { terminalSequence: 4 });
    await uploadStored(setup, { terminalSequence: 2 });
    assert.deepEqual((await listGaps(setup)).items, []);
    const late = await uploadStored(setup, { terminalSequence: 7 });
    await uploadStored(setup, { terminalSequence: 6 });
    await dueNow();
    await until(async () => {
      const jobs = await database.query(
        "SELECT 1 FROM jobs WHERE organization_id = $1 AND kind = 'payments.report-offline-gap'",
        [setup.organizationId],
      );
      return jobs.length === 0 ? true : undefined;
    }, 'the jobs to end');
    const { body } = await call(setup, 'GET', `/${late.transactionId}`);
    assert.ok(!eventTypesOf(body).includes('offline.gap_detected'));
  });

  test('gaps are listed page by page, by merchant and store', async () => {
    const setup = await createOrganization();
    const sequences = [1, 3, 5, 7];
    for (const terminalSequence of sequences) await uploadStored(setup, { terminalSequence });
    const first = await listGaps(setup, '?limit=2');
    assert.equal(first.items.length, 2);
    const second = await listGaps(setup, `?limit=2&cursor=${first.nextCursor}`);
    assert.deepEqual([second.items.length, second.nextCursor], [1, null]);
    assert.deepEqual((await listGaps(setup, '', setup.otherMerchant.token)).items, []);
    const foreign = `/payment/v1/offline-gaps?merchantId=${setup.otherMerchant.merchantId}`;
    const refused = await setup.client.call('GET', foreign, { token: setup.merchant.token });
    assertProblem(refused, { code: 'entity_out_of_scope' });
    assert.equal((await listGaps(setup, `?storeId=${setup.merchant.storeId}`)).items.length, 3);
    assert.equal((await listGaps(setup, `?storeId=${randomUUID()}`)).items.length, 0);
  });
});

test('the ledgers of platform and host agree', assertLedgersAgree);
