// Whole run: much is made, or waited for, before it shows.
// The payment search through its API: results, permissions, order and pages.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { pageResponse } from '../../src/http/index.ts';
import { markFrequentClassesSql } from '../../src/reporting/projection/projection-sql.ts';
import { encodeSettlementId } from '../../src/reporting/settlements/settlement-id.ts';
import { testDatabase } from '../support/database/test-database.ts';
import { signAccessToken } from '../support/identity/signed-access-tokens.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { allOf, fetchReport, reported } from '../support/provisioning/report-client.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { eventually } from '../support/wait-for-condition.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the tests
type Json = any;

const base = '/payment/v1/transactions';
const ofSettlement = { acquirerLinkId: randomUUID(), merchantId: randomUUID(), currency: 'EUR' };
const mastercard = {
  card: { number: '5555555555554444', expiryMonth: 12, expiryYear: 2030 },
};

describe('the search over payments', () => {
  let setup: TestOrganization;
  let token: string;
  const made: Record<string, Json> = {};

  async function sell(name: string, members: Json = {}, merchant = setup.merchant): Promise<Json> {
    const answer = await setup.client.call('POST', `${base}/process`, {
      token: merchant.token,
      body: keyedSale(members),
    });
    assert.equal(answer.status, 200, answer.text);
    made[name] = answer.body;
    return answer.body;
  }

  const act = async (name: string, verb: string, body: Json) => {
    const path = `${base}/${made[name].transactionId}/${verb}`;
    const answer = await setup.client.call('POST', path, { token: setup.merchant.token, body });
    assert.ok(answer.status < 300, answer.text);
  };

  const search = (filters: Json = {}, callerToken = token) =>
    allOf(setup, callerToken, 'transactions', filters);
  const names = (items: Json[]) => {
    const byId = new Map(Object.entries(made).map(([name, each]) => [each.transactionId, name]));
    return items.map(({ transactionId }) => byId.get(transactionId));
  };
  const orderId = randomUUID();

  before(async () => {
    setup = await createTestOrganization();
    token = setup.acquirerToken;
    const [deviceId] = setup.merchant.deviceIds;
    await sell('plain');
    await sell('till', { deviceId, amount: 5000, order: { orderId } });
    await sell('deferred', { captureMode: 'Deferred', amount: 20_000 });
    await sell('declined', { amount: 9051 });
    await sell('yen', { currency: 'JPY', amount: 800 });
    await sell('master', { instrument: mastercard, amount: 700 });
    await sell('refunded', { amount: 3000 });
    await act('refunded', 'refund', { amount: 1000 });
    await sell('other', { amount: 1234 }, setup.otherMerchant);
    await reported(setup);
  });

  // Spec: SVC-4
  test('returns one item per payment, with the newest first', async () => {
    const items = await search();
    assert.deepEqual(
      names(items),
      ['plain', 'till', 'deferred', 'declined', 'yen', 'master', 'refunded', 'other'].reverse(),
    );
    const line = items[1];
    const sale = made['refunded'];
    assert.deepEqual(line, {
      transactionId: sale.transactionId,
      kind: 'Card',
      clientTransactionId: sale.clientTransactionId,
      merchantId: setup.merchant.merchantId,
      state: 'PartiallyRefunded',
      amount: 3000,
      currency: 'EUR',
      authorizedAmount: 3000,
      capturedAmount: 3000,
      cancelledAmount: 0,
      refundedAmount: 1000,
      scheme: 'Visa',
      entryMode: 'Keyed',
      maskedNumber: sale.card.maskedNumber,
      cardToken: sale.card.token,
      response: { category: 'Approved', code: '00', reason: 'Approved' },
      authorizationCode: sale.authorizationCode,
      retrievalReferenceNumber: sale.retrievalReferenceNumber,
      day: line.day,
      createdAt: sale.createdAt,
      updatedAt: line.updatedAt,
    });
    assert.ok(line.updatedAt > sale.updatedAt);
    assert.equal(items.at(-1).transactionId, made['plain'].transactionId);
    assert.deepEqual(names(await search({ order: 'OldestFirst' })).at(0), 'plain');
  });

  const all = ['other', 'refunded', 'master', 'yen', 'declined', 'deferred', 'till', 'plain'];
  const cases: [string, () => Json, string[]][] = [
    ['a merchant', () => ({ merchantId: setup.otherMerchant.merchantId }), ['other']],
    [
      'a merchant in capitals',
      () => ({ merchantId: setup.otherMerchant.merchantId.toUpperCase() }),
      ['other'],
    ],
    ['a device', () => ({ deviceId: setup.merchant.deviceIds[0] }), ['till']],
    ['a store', () => ({ storeId: setup.merchant.storeId }), ['till']],
    [
      'a store of another merchant',
      () => ({ storeId: setup.merchant.storeId, merchantId: setup.otherMerchant.merchantId }),
      [],
    ],
    [
      'a store and its merchant in capitals',
      () => ({
        storeId: setup.merchant.storeId,
        merchantId: setup.merchant.merchantId.toUpperCase(),
      }),
      ['till'],
    ],
    [
      'a store without payments and its merchant',
      () => ({ storeId: setup.otherMerchant.storeId, merchantId: setup.otherMerchant.merchantId }),
      [],
    ],
    ['a state', () => ({ state: 'Authorized' }), ['deferred']],
    ['states', () => ({ state: 'Authorized,Declined' }), ['declined', 'deferred']],
    ['a scheme', () => ({ scheme: 'Mastercard' }), ['master']],
    ['a scheme that nobody has', () => ({ scheme: 'Nobody' }), []],
    ['a currency', () => ({ currency: 'JPY' }), ['yen']],
    ['an answer', () => ({ responseCategory: 'SoftDecline' }), ['declined']],
    ['an entry mode that nobody used', () => ({ entryMode: 'ContactChip' }), []],
    ['a kind', () => ({ kind: 'Qr' }), []],
    ['the other kind', () => ({ kind: 'Card' }), all],
    ['an amount', () => ({ amountMin: 1234, amountMax: 1234 }), ['other', 'plain']],
    ['an amount and more', () => ({ amountMin: 9051 }), ['declined', 'deferred']],
    [
      'an amount and a merchant',
      () => ({ amountMax: 1234, merchantId: setup.otherMerchant.merchantId }),
      ['other'],
    ],
    [
      'one amount and a merchant',
      () => ({ amountMin: 1234, amountMax: 1234, merchantId: setup.otherMerchant.merchantId }),
      ['other'],
    ],
    ['an amount and a state', () => ({ amountMin: 5000, state: 'Captured' }), ['till']],
    ['an amount and words that all match', () => ({ amountMax: 800, currency: 'EUR' }), ['master']],
    [
      'a state and a merchant',
      () => ({ state: 'Captured', merchantId: setup.otherMerchant.merchantId }),
      ['other'],
    ],
    ['a state and a scheme', () => ({ state: 'Declined', scheme: 'Mastercard' }), []],
    [
      'a time',
      () => ({ from: made['yen'].createdAt, to: made['other'].createdAt }),
      ['refunded', 'master', 'yen'],
    ],
    [
      'a time and a device',
      () => ({ from: made['deferred'].createdAt, deviceId: setup.merchant.deviceIds[0] }),
      [],
    ],
    [
      'a time in another zone',
      () => ({
        from: made['yen'].createdAt.replace('Z', '+00:00'),
        to: '2100-01-01T00:00:00+01:00',
        state: 'Captured',
      }),
      ['other', 'master', 'yen'],
    ],
    ['our identifier', () => ({ text: made['till'].transactionId }), ['till']],
    ["the client's identifier", () => ({ text: made['till'].clientTransactionId }), ['till']],
    ['an order', () => ({ text: orderId }), ['till']],
    ['a retrieval reference', () => ({ text: made['yen'].retrievalReferenceNumber }), ['yen']],
    [
      'an authorisation code',
      () => ({ text: made['master'].authorizationCode, scheme: 'Mastercard' }),
      ['master'],
    ],
    ['a card token', () => ({ text: made['master'].card.token }), ['master']],
    ['four digits', () => ({ text: '4444' }), ['master']],
    [
      'four digits and a merchant',
      () => ({ text: '1111', merchantId: setup.otherMerchant.merchantId }),
      ['other'],
    ],
    [
      'our identifier with a filter that it does not fit',
      () => ({ text: made['till'].transactionId, state: 'Declined' }),
      [],
    ],
    ['a text that is nowhere', () => ({ text: 'no-such-thing' }), []],
  ];
  for (const [name, buildFilter, expected] of cases) {
    test(`finds by ${name}`, async () => {
      assert.deepEqual(names(await search(buildFilter())), expected);
    });
  }

  // Spec: REP-1
  test('goes page by page over every way, and stays in step while others are made', async () => {
    const ways: Json[] = [
      {},
      { order: 'OldestFirst' },
      { merchantId: setup.merchant.merchantId },
      { kind: 'Card' },
      { amountMin: 1 },
      { state: 'Captured,PartiallyRefunded,Declined' },
      { text: '1111' },
    ];
    for (const way of ways) {
      const whole = await search(way);
      const first = await fetchReport(setup, token, 'transactions', { ...way, limit: 2 });
      await sell(`between ${JSON.stringify(way)}`);
      await reported(setup);
      const rest: Json[] = [];
      let cursor = first.nextCursor;
      while (cursor !== null) {
        const page = await fetchReport(setup, token, 'transactions', { ...way, limit: 2, cursor });
        assert.ok(page.items.length <= 2);
        rest.push(...page.items);
        cursor = page.nextCursor;
      }
      const pagedIds = [...first.items, ...rest].map(({ transactionId }: Json) => transactionId);
      const firstIds = whole.map(({ transactionId }) => transactionId);
      // New payments come before the first page, or at the end of an ascending list.
      assert.deepEqual(pagedIds.slice(0, firstIds.length), firstIds, JSON.stringify(way));
    }
  });

  // Spec: REP-3
  test('a merchant finds only its own payments, with any filter', async () => {
    const ownPayments = await search({}, setup.otherMerchant.token);
    assert.deepEqual(names(ownPayments), ['other']);
    const text = made['plain'].transactionId;
    assert.deepEqual(await search({ text }, setup.otherMerchant.token), []);
    const path = `/reporting/v1/transactions?merchantId=${setup.merchant.merchantId}`;
    const refused = await setup.client.call('GET', path, { token: setup.otherMerchant.token });
    assert.equal(refused.status, 403);
    assert.equal(refused.body.code, 'entity_out_of_scope');
    const till = await signAccessToken(setup, {
      permissions: ['rep.read'],
      um_scope: { entityType: 'merchant', entityId: setup.merchant.merchantId },
    });
    assert.ok(
      (await search({}, till)).every((each) => each.merchantId === setup.merchant.merchantId),
    );
  });

  // Spec: REP-3
  test('another organisation sees nothing of it, by no filter', async () => {
    const others = await createTestOrganization();
    await sell('a late one');
    await others.client.call('POST', `${base}/process`, {
      token: others.merchant.token,
      body: keyedSale(),
    });
    await reported(others);
    const [theirs] = await allOf(others, others.acquirerToken, 'transactions');
    assert.ok(theirs !== undefined);
    for (const filters of [
      { merchantId: setup.merchant.merchantId },
      { deviceId: setup.merchant.deviceIds[0] },
      { text: made['plain'].transactionId },
      { text: made['plain'].clientTransactionId },
      { text: made['plain'].card.token },
    ]) {
      assert.deepEqual(await allOf(others, others.acquirerToken, 'transactions', filters), []);
    }
    const path = `/reporting/v1/transactions/${made['plain'].transactionId}`;
    const otherResponse = await setup.client.call('GET', path, { token: others.acquirerToken });
    assert.equal(otherResponse.status, 404);
    assert.equal(otherResponse.body.code, 'transaction_not_found');
  });

  // Spec: REP-2
  test('the server returns one payment with its operations and events', async () => {
    const { transactionId } = made['refunded'];
    const detail = await fetchReport(setup, token, `transactions/${transactionId}`);
    assert.equal(detail.kind, 'Card');
    assert.equal(detail.card.state, 'PartiallyRefunded');
    assert.deepEqual(
      detail.card.events.map(({ type }: Json) => type),
      [
        'transaction.received',
        'transaction.captured',
        'transaction.refund_pending',
        'transaction.refunded',
      ],
    );
    assert.equal(detail.card.operations[0].kind, 'Refund');
    const path = `/reporting/v1/transactions/${transactionId}`;
    const other = await setup.client.call('GET', path, { token: setup.otherMerchant.token });
    assert.equal(other.status, 404);
  });

  const hostile: [string, string, number, string][] = [
    ['a state that is none', 'state=Nothing', 422, 'field_invalid'],
    ['a list with a hole', 'state=Captured,,Declined', 422, 'field_invalid'],
    ['a merchant that is no identifier', 'merchantId=1', 422, 'field_invalid'],
    ['SQL for a store', "storeId=' OR 1=1 --", 422, 'field_invalid'],
    ['SQL for a text', "text=' OR 1=1 --", 422, 'field_invalid'],
    ['a text of 65', `text=${'a'.repeat(65)}`, 422, 'field_invalid'],
    ['no text', 'text=', 422, 'field_invalid'],
    ['an amount below zero', 'amountMin=-1', 422, 'amount_invalid'],
    ['an amount that is none', 'amountMin=ten', 422, 'amount_invalid'],
    ['an amount too large', 'amountMax=1000000000000', 422, 'amount_too_large'],
    ['amounts the wrong way round', 'amountMin=5&amountMax=4', 422, 'field_invalid'],
    ['a time that is none', 'from=yesterday', 422, 'field_invalid'],
    ['201 of them', 'limit=201', 422, 'field_invalid'],
    ['none of them', 'limit=0', 422, 'field_invalid'],
    ['a cursor of nobody', 'cursor=abc', 422, 'cursor_invalid'],
    ['a member of no schema', 'colour=red', 422, 'field_unknown'],
    ['a scheme of commas', `scheme=${'a,'.repeat(300)}a`, 422, 'field_invalid'],
  ];
  for (const [name, text, status, code] of hostile) {
    test(`refuses ${name}`, async () => {
      const path = `/reporting/v1/transactions?${text.replaceAll(' ', '%20')}`;
      const answer = await setup.client.call('GET', path, { token });
      assert.equal(answer.status, status, answer.text);
      const codes = [
        answer.body.code,
        ...(answer.body.errors ?? []).map((each: Json) => each.code),
      ];
      assert.ok(codes.includes(code), `${codes}`);
    });
  }

  test('the server refuses a cursor with different filters and a forged cursor', async () => {
    const page = await fetchReport(setup, token, 'transactions', { limit: 1 });
    const path = `/reporting/v1/transactions?limit=1&state=Captured&cursor=${page.nextCursor}`;
    const other = await setup.client.call('GET', path, { token });
    assert.equal(other.body.code, 'cursor_invalid');
    const forged = Buffer.from(JSON.stringify(["x'|y", 'm'])).toString('base64url');
    const made = await setup.client.call('GET', `/reporting/v1/transactions?cursor=${forged}`, {
      token,
    });
    assert.equal(made.body.code, 'cursor_invalid');
  });

  test('the server refuses a forged cursor if its key is not valid for the database', async () => {
    const id = randomUUID();
    const first = encodeSettlementId({ ...ofSettlement, day: '2026-01-01' });
    const late = Buffer.from(first, 'base64url');
    late.writeUIntBE(Date.parse('+047000-01-01') / 86_400_000, 0, 3);
    const payments = ['transactions', 'listReportedPayments', { order: 'NewestFirst' }] as const;
    const days = { from: '2026-01-01', to: '2026-01-02' };
    const summary = (query: object) =>
      ['summary', 'getPaymentSummary', { ...days, ...query }] as const;
    const merchants = summary({ groupBy: 'merchant', order: 'Key' });
    const stores = summary({ groupBy: 'store', order: 'Count' });
    const settlements = ['settlements', 'listSettlements', {}] as const;
    const made = [
      [payments, `2026-01-01T00:00:00.000Z|${id}`, 200],
      [payments, `2026-99-01T00:00:00.000Z|${id}`, 422],
      [payments, `2026-02-31T00:00:00.000Z|${id}`, 422],
      [payments, `0000-01-01T00:00:00.000Z|${id}`, 422],
      [settlements, first, 200],
      [settlements, late.toString('base64url'), 422],
      [merchants, `1|${id}`, 200],
      [merchants, '1|abc', 422],
      [stores, `1|${id}`, 200],
      [stores, '1|', 422],
    ] as const;
    for (const [[name, list, query], key, status] of made) {
      const { nextCursor } = pageResponse({ items: [], next: key }, query, list);
      const parameters = new URLSearchParams({ ...query, cursor: nextCursor ?? '' });
      const answer = await setup.client.call('GET', `/reporting/v1/${name}?${parameters}`, {
        token,
      });
      assert.equal(answer.status, status, `${key}: ${answer.text}`);
      if (status === 422) assert.equal(answer.body.code, 'cursor_invalid');
    }
  });

  test('the server answers settlement queries with dates before 1970 with status 200', async () => {
    for (const query of ['from=0000-01-01', 'to=0000-01-01', 'from=0001-01-01&to=1969-12-31']) {
      const answer = await setup.client.call('GET', `/reporting/v1/settlements?${query}`, {
        token,
      });
      assert.equal(answer.status, 200, answer.text);
    }
  });

  test('whose token has no right to reports is refused', async () => {
    const without = await signAccessToken(setup, { permissions: ['pay.read'] });
    for (const path of ['transactions', 'summary?from=2026-01-01&to=2026-01-01', 'settlements']) {
      const answer = await setup.client.call('GET', `/reporting/v1/${path}`, { token: without });
      assert.equal(answer.status, 403, path);
    }
  });

  test('search texts that look like SQL find no payments and delete no data', async () => {
    for (const text of ["';--", '%', '_', '$1', '\\x00', '{}', '0'.repeat(64)]) {
      assert.deepEqual(await search({ text }), [], text);
    }
    const database = await testDatabase();
    const [row] = await database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM report_payments WHERE organization_id = $1',
      [setup.organizationId],
    );
    assert.ok((row?.count ?? 0) >= 8);
  });

  test('payments of frequent classes are found without the index of classes', async () => {
    const filters = { state: 'Captured,Declined' };
    const before = await search(filters);
    const database = await testDatabase();
    const classes = await database.query<{ classId: number }>(
      `UPDATE report_classes SET payments = 10000 WHERE organization_id = $1 AND state = 'Captured'
       RETURNING class_id AS "classId"`,
      [setup.organizationId],
    );
    const frequent = await database.query(markFrequentClassesSql, [setup.organizationId]);
    assert.deepEqual(new Set(frequent), new Set(classes));
    await database.query(
      `UPDATE report_payments p SET rare_class_id = NULL FROM report_classes c
       WHERE p.organization_id = $1 AND c.organization_id = $1 AND c.class_id = p.class_id AND c.is_frequent`,
      [setup.organizationId],
    );
    const amounts = { state: 'Captured', amountMin: 1234, amountMax: 1234 };
    await eventually('the search reads the classes again', async () => {
      return (await search(amounts)).length > 0;
    });
    assert.deepEqual(await search(filters), before);
    assert.deepEqual(
      await search(amounts),
      before.filter(({ state, amount }) => state === 'Captured' && amount === 1234),
    );
    assert.deepEqual(names(await search({ state: 'Declined' })), ['declined']);
  });
});
