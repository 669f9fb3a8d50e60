// Whole run: many refused requests; other files test the accepted ones.
// Refused QR payments: invalid input, other tenants, replays, floods.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { textWithoutRequestId } from '../support/assert-problem-response.ts';
import { testDatabase } from '../support/database/test-database.ts';
import { until } from '../support/wait-for-result.ts';
import { deviceTokenOf, openQr, type TestQr } from './test-qr-merchant.ts';
import { type Json, nameOf, qrBase } from './test-qr-provider.ts';

const pan = `4${'1'.repeat(15)}`;

describe('refused QR payments', () => {
  let qr: TestQr;
  let otherSetup: TestQr;
  before(async () => {
    [qr, otherSetup] = await Promise.all([openQr(), openQr()]);
  });
  after(() => Promise.all([qr.close(), otherSetup.close()]));

  // Spec: QRREQ-4
  test('a repeated request returns the first response, and a different request with the same id is refused', async () => {
    const request = qr.request();
    const first = await qr.call('POST', qrBase, request);
    const again = await qr.call('POST', qrBase, request);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.equal(first.headers['idempotent-replayed'], undefined);
    assert.deepEqual([again.status, again.body], [first.status, first.body]);
    const other = { ...request, paymentAmount: { amount: 1051, currency: 'EUR' } };
    const refused = await qr.call('POST', qrBase, other);
    assert.deepEqual([refused.status, refused.body.code], [422, 'client_id_reused']);
    assert.equal(refused.body.errors[0].pointer, '/paymentAmount');
    assert.doesNotMatch(textWithoutRequestId(refused), /1050|1051/);
    // The scanned code also distinguishes requests, although it is not stored.
    const scanned = qr.request({ scannedPaymentId: '281234567890123456' });
    await qr.call('POST', qrBase, scanned);
    const changed = { ...scanned, scannedPaymentId: '281234567890123457' };
    const reused = await qr.call('POST', qrBase, changed);
    assert.equal(reused.body.errors[0].pointer, '/scannedPaymentId');
    assert.equal((await qr.call('POST', qrBase, scanned)).status, 200);
  });

  test('twenty of the same at once are one payment at the provider', async () => {
    const request = qr.request();
    const all = await Promise.all(
      Array.from({ length: 20 }, () => qr.call('POST', qrBase, request)),
    );
    const ids = new Set(all.map(({ body }) => body.transactionId));
    assert.equal(ids.size, 1);
    assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([200]));
    assert.equal(qr.provider.of('create', String([...ids][0])).length, 1);
  });

  test('of one hundred parallel refunds of 60 percent, only one succeeds', async () => {
    const id = await qr.begun({ paymentAmount: { amount: 100, currency: 'EUR' } });
    await qr.tell(id, { type: 'payment.completed', sequence: 1 });
    const all = await Promise.all(
      Array.from({ length: 100 }, () => qr.call('POST', `${qrBase}/${id}/refund`, { amount: 60 })),
    );
    assert.equal(all.filter(({ status }) => status === 200).length, 1);
    for (const { status, body } of all) {
      if (status !== 200) assert.deepEqual([status, body.code], [422, 'refund_amount_exceeded']);
    }
    assert.equal(qr.provider.of('refund', id).length, 1);
    assert.equal((await qr.get(id))['refundedAmount'], 60);
  });

  test('repeated refund requests with one operation id create one refund, and another payment cannot use the id', async () => {
    const [id, other] = [await qr.begun(), await qr.begun()];
    for (const each of [id, other]) {
      await qr.tell(each, { type: 'payment.completed', sequence: 1 });
    }
    const body = { amount: 10, clientOperationId: randomUUID() };
    const path = `${qrBase}/${id}/refund`;
    const all = await Promise.all(Array.from({ length: 5 }, () => qr.call('POST', path, body)));
    const numbers = new Set(all.map((answer) => answer.body.operation.operationId));
    assert.equal(numbers.size, 1);
    assert.equal((await qr.get(id))['refundedAmount'], 10);
    const more = await qr.call('POST', path, { ...body, amount: 11 });
    assert.deepEqual([more.status, more.body.code], [422, 'client_id_reused']);
    const elsewhere = await qr.call('POST', `${qrBase}/${other}/refund`, body);
    assert.deepEqual([elsewhere.status, elsewhere.body.code], [422, 'client_id_reused']);
  });

  // Spec: QRREQ-1 QR-1
  test('only a device begins one, of a payment type that is active for it', async () => {
    const token = qr.merchant.token;
    const till = await qr.call('POST', qrBase, qr.request(), token);
    assert.deepEqual([till.status, till.body.code], [403, 'permission_denied']);
    // The server checks the caller before the body.
    const faulty = await qr.call('POST', qrBase, { paymentAmount: 'much' }, token);
    assert.deepEqual([faulty.status, faulty.body.code], [403, 'permission_denied']);
    for (const paymentType of ['nobodys', otherSetup.paymentType]) {
      const { status, body } = await qr.create({ paymentType });
      assert.deepEqual([status, body.code], [422, 'payment_type_not_enabled'], paymentType);
    }
    // The device was added after the activation at the higher level and needs its own activation.
    const { platform, organizationId } = qr.organization;
    const { storeId } = qr.merchant;
    const made = await platform.provisioning.logicalDevices.create(
      { organizationId },
      { storeId, name: 'New till' },
    );
    const newcomer = await deviceTokenOf(qr.organization, qr.merchant, made.view.logicalDeviceId);
    const refused = await qr.call('POST', qrBase, qr.request(), newcomer);
    assert.deepEqual([refused.status, refused.body.code], [422, 'payment_type_not_enabled']);
  });

  // Spec: QRPROV-16
  test('a provider that sends one big picture after another gets no big answers for it', async () => {
    const id = await qr.begun();
    const pictureOf = (n: number) => `https://pay.example/${String(n).padStart(3, '0')}/`;
    for (let sequence = 1; sequence <= 60; sequence += 1) {
      const data = pictureOf(sequence).padEnd(2000, 'x');
      const event = { type: 'payment.pending', sequence, display: { type: 'url', data } };
      assert.equal((await qr.tell(id, event)).status, 202);
    }
    const eventsWithDisplay = (events: Json[]) =>
      events.filter(({ display }) => display !== undefined);
    for (const path of [`${qrBase}/${id}`, `${qrBase}/${id}/events`]) {
      const { body, text } = await qr.call('GET', path);
      assert.equal(eventsWithDisplay(body.events).length, 1, path);
      assert.ok(text.length < 40_000, `${path}: ${text.length}`);
    }
    const { display, events } = await qr.get(id);
    assert.equal(events.length, 62);
    assert.ok(display.data.startsWith(pictureOf(30)), display.data.slice(0, 40));
    const database = await testDatabase();
    const [row] = await database.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM qr_events WHERE transaction_id = $1 AND data ? 'display'`,
      [id],
    );
    assert.equal(row?.n, 31, 'so many are kept, and no more');
  });

  // Spec: QRPROV-15
  test('the platform hides a card number in provider data, whichever separators are between its digits', async () => {
    const dressed = ['4111-1111-1111-1111', 'P4111.1111.1111.1111', 'R_4111~1111:1111_1111'];
    for (const name of dressed) {
      const failure = { code: 'c-4111-1111-1111-1111', text: `no ${name.slice(1)}` };
      qr.provider.script = () => ({
        body: { providerTransactionId: name, status: 'Pending', failure, more: { said: name } },
      });
      const { body } = await qr.create();
      qr.provider.script = () => undefined;
      const id = body.transactionId;
      const event = { providerTransactionId: name, failure, providerRefundId: name, said: name };
      const type = 'payment.said_4111111111111111';
      assert.equal((await qr.tell(id, { ...event, type, sequence: 1 })).status, 202);
      const declined = { ...event, type: 'payment.declined', sequence: 2 };
      assert.equal((await qr.tell(id, declined)).status, 202, 'it is the same name');
      const payment = await qr.get(id);
      assert.equal(payment['status'], 'Declined');
      const database = await testDatabase();
      const rows = await database.query<{ text: string }>(
        `SELECT t::text AS text FROM qr_transactions t WHERE transaction_id = $1
         UNION ALL SELECT e::text FROM qr_events e WHERE transaction_id = $1`,
        [id],
      );
      assert.equal(rows.length, 5);
      const storedText = [JSON.stringify(payment), ...rows.map(({ text }) => text)].join('\n');
      assert.doesNotMatch(storedText.replace(/[._~: -]/g, ''), /4111111111111111/);
    }
  });

  // Spec: QRREQ-2 QRREQ-5 QRREQ-6 QRREQ-7 QRREQ-8
  test('the platform refuses invalid members by name, and sends the provider no request', async () => {
    const existingId = await qr.begun();
    const before = qr.provider.calls.length;
    const cases: [Json, string, string][] = [
      [{ paymentScenario: 'merchantscan' }, 'field_required', '/scannedPaymentId'],
      [{ paymentScenario: 'nobodyscan' }, 'field_invalid', '/paymentScenario'],
      [{ scannedPaymentId: '' }, 'field_invalid', '/scannedPaymentId'],
      [{ scannedPaymentId: 'a\u0007b' }, 'field_invalid', '/scannedPaymentId'],
      [{ paymentAmount: { amount: 0, currency: 'EUR' } }, 'amount_zero', '/paymentAmount/amount'],
      [
        { paymentAmount: { amount: 1, currency: 'DEM' } },
        'currency_unknown',
        '/paymentAmount/currency',
      ],
      [{ paymentAmount: { amount: 1 } }, 'field_required', '/paymentAmount/currency'],
      [{ order: { orderId: 'table 12' } }, 'field_invalid', '/order/orderId'],
      [{ order: { orderDescription: `card ${pan}` } }, 'field_invalid', '/order'],
      [{ clientTransactionId: pan }, 'client_id_invalid', '/clientTransactionId'],
      [{ clientTransactionId: existingId }, 'client_id_invalid', '/clientTransactionId'],
      [{ clientTransactionId: 'a b' }, 'client_id_invalid', '/clientTransactionId'],
      [{ amount: 1050 }, 'field_unknown', '/amount'],
    ];
    for (const [members, code, pointer] of cases) {
      const { status, body, text } = await qr.create(members);
      const event = [status, body.errors?.[0]?.code, body.errors?.[0]?.pointer];
      assert.deepEqual(event, [422, code, pointer], JSON.stringify(members));
      assert.ok(!text.includes(pan));
    }
    for (const amount of ['10.0', '1e3', '"1050"']) {
      const raw = JSON.stringify(qr.request()).replace('"amount":1050', `"amount":${amount}`);
      const answer = await qr.organization.client.call('POST', qrBase, {
        token: qr.deviceToken,
        raw,
        headers: { 'content-type': 'application/json' },
      });
      assert.ok([400, 422].includes(answer.status), `${amount}: ${answer.status}`);
    }
    assert.equal(qr.provider.calls.length, before);
  });

  test('other merchants, other organisations and other providers cannot access the payment', async () => {
    const id = await qr.begun();
    const others = [
      qr.otherDeviceToken,
      qr.organization.otherMerchant.token,
      otherSetup.deviceToken,
    ];
    for (const token of [...others, otherSetup.organization.acquirerToken]) {
      for (const path of [`${qrBase}/${id}`, `${qrBase}/${id}/events`]) {
        const { status } = await qr.call('GET', path, undefined, token);
        assert.ok(status === 404 || status === 403, `${path}: ${status}`);
      }
    }
    for (const verb of ['cancel', 'refund']) {
      const path = `${qrBase}/${id}/${verb}`;
      const { status, body } = await qr.call('POST', path, {}, qr.otherDeviceToken);
      assert.deepEqual([status, body.code], [404, 'transaction_not_found']);
    }
    const event = { type: 'payment.completed', sequence: 1 };
    for (const token of [otherSetup.providerToken, qr.organization.acquirerToken, qr.deviceToken]) {
      const { status, body } = await qr.tell(id, event, token);
      const isProvider = token === otherSetup.providerToken;
      const expected = isProvider ? [404, 'transaction_not_found'] : [403, 'permission_denied'];
      assert.deepEqual([status, body.code], expected);
    }
    const unknown = await qr.tell(randomUUID(), event);
    assert.equal(unknown.status, 404);
    assert.equal((await qr.get(id))['status'], 'Pending');
  });

  // Spec: IDEM-17
  test('its own merchant finds it by the name that the terminal gave, in a namespace of its own', async () => {
    const request = qr.request();
    const { body } = await qr.call('POST', qrBase, request);
    const name = request['clientTransactionId'];
    const response = await qr.call('GET', `${qrBase}/${name}`);
    assert.equal(response.body.transactionId, body.transactionId);
    const card = await qr.call('GET', `/payment/v1/transactions/${name}`);
    assert.equal(card.status, 404);
    const list = await qr.call('GET', `${qrBase}?limit=1`, undefined, qr.merchant.token);
    assert.equal(list.body.items.length, 1);
    const next = `${qrBase}?limit=1&cursor=${list.body.nextCursor}`;
    const second = await qr.call('GET', next, undefined, qr.merchant.token);
    assert.ok(second.body.items[0].transactionId < list.body.items[0].transactionId);
    const ownPayments = await qr.call(
      'GET',
      qrBase,
      undefined,
      qr.organization.otherMerchant.token,
    );
    assert.deepEqual(ownPayments.body.items, []);
  });

  // Spec: NEXO-67
  test('the platform refuses invalid events, and stores events of an unknown type or refund without effect', async () => {
    const id = await qr.begun();
    const script = `<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>`;
    const data = Buffer.from(script).toString('base64');
    const bad: [Json, string][] = [
      [
        { type: 'payment.pending', sequence: 1, display: { type: 'image/svg+xml', data } },
        '/display/data',
      ],
      [
        { type: 'payment.completed', sequence: 1, amount: { amount: 0, currency: 'EUR' } },
        '/amount/amount',
      ],
      [{ type: 'payment.completed', sequence: 0 }, '/sequence'],
      [
        { type: 'payment.completed', sequence: 1, providerTransactionId: 'P-other' },
        '/providerTransactionId',
      ],
      [{ type: 'refund.completed', sequence: 1 }, '/refundId'],
      [{ type: 'payment.completed', sequence: 1, eventId: 'one' }, '/eventId'],
    ];
    for (const [event, pointer] of bad) {
      const { status, body } = await qr.tell(id, event as never);
      assert.deepEqual([status, body.errors?.[0]?.pointer], [422, pointer], JSON.stringify(event));
    }
    const strange = { type: 'payment.blessed', sequence: 7, weather: 'fine', note: `card ${pan}` };
    const unknown = { type: 'refund.completed', sequence: 8, refundId: randomUUID() };
    for (const event of [strange, unknown]) {
      const { status, body } = await qr.tell(id, event);
      assert.deepEqual([status, body.result], [202, 'Ignored']);
    }
    const payment = await qr.get(id);
    assert.equal(payment['status'], 'Pending');
    assert.deepEqual(
      payment['events'].slice(-2).map(({ type, reason }: Json) => [type, reason]),
      [
        ['qr.noted', 'UnknownType'],
        ['qr.noted', 'UnknownRefund'],
      ],
    );
    assert.ok(!JSON.stringify(payment).includes(pan));
  });

  test('the platform refuses more than 200 events of a payment, and the payment continues', async () => {
    const id = await qr.begun();
    const events = Array.from({ length: 220 }, (_, index) => index + 1);
    const all = await Promise.all(
      events.map((sequence) => qr.tell(id, { type: 'payment.scanned', sequence })),
    );
    assert.equal(all.filter(({ status }) => status === 202).length, 200);
    const refused = all.find(({ status }) => status !== 202);
    assert.equal(refused?.body.code, 'event_limit_reached');
    const { body } = await qr.call('POST', `${qrBase}/${id}/cancel`);
    assert.equal(body.status, 'Cancelled');
  });

  /** Reads the events of a payment from the feed once this number is published. */
  const published = (id: string, count: number) =>
    until(async () => {
      const path = '/events/v1?limit=200&types=qr.*';
      const answer = await qr.organization.client.call('GET', path, {
        token: qr.organization.acquirerToken,
      });
      assert.equal(answer.status, 200, answer.text);
      const items = answer.body.items.filter((each: Json) => each['data'].transactionId === id);
      return items.length >= count ? { items, text: answer.text } : undefined;
    }, 'the feed');

  const sums = ['paidAmount', 'paidCurrency', 'refundAmount'];
  const moneyIn = ({ items }: { items: Json[] }) =>
    items.map(({ data }) =>
      sums.flatMap((name) => (data[name] === undefined ? [] : [name, data[name]])),
    );

  test('the platform publishes the events of a payment to its merchant in order, without the scanned code', async () => {
    const scannedPaymentId = pan;
    const id = await qr.begun({ scannedPaymentId });
    await qr.tell(id, { type: 'payment.completed', sequence: 1 });
    await qr.call('POST', `${qrBase}/${id}/refund`);
    const types = ['qr.pending', 'qr.completed', 'qr.refund_pending', 'qr.refunded'];
    const feed = await published(id, types.length);
    assert.deepEqual(
      feed.items.map(({ type }: Json) => type),
      types,
    );
    const [pending] = feed.items;
    assert.equal(pending.data.merchantId, qr.merchant.merchantId);
    assert.equal(pending.data.providerTransactionId, nameOf(id));
    assert.ok(!feed.text.includes(pan));
    assert.deepEqual(moneyIn(feed), [
      [],
      ['paidAmount', 1050],
      ['refundAmount', 1050],
      ['refundAmount', 1050],
    ]);
  });

  test('published events show the paid amount and the refund amount in separate members', async () => {
    const paid = (amount: number, currency: string) => ({
      type: 'payment.completed',
      sequence: 1,
      amount: { amount, currency },
    });
    const dollars = await qr.begun();
    await qr.tell(dollars, paid(900, 'USD'));
    assert.deepEqual(moneyIn(await published(dollars, 2)), [
      [],
      ['paidAmount', 900, 'paidCurrency', 'USD'],
    ]);
    const declined = await qr.begun();
    await qr.tell(declined, paid(1050, 'EUR'));
    qr.provider.script = ({ kind }) =>
      kind === 'refund' ? { status: 422, body: { code: 'not_now' } } : undefined;
    await qr.call('POST', `${qrBase}/${declined}/refund`, { amount: 60 });
    const [, , pending, failed] = moneyIn(await published(declined, 4));
    assert.deepEqual(
      [pending, failed],
      [
        ['refundAmount', 60],
        ['refundAmount', 60],
      ],
    );
    // A cancel without a response, and a completion that crosses it.
    const crossed = await qr.begun();
    qr.provider.script = ({ kind }) => (kind === 'cancel' ? { status: 500, body: {} } : undefined);
    await qr.call('POST', `${qrBase}/${crossed}/cancel`);
    await qr.tell(crossed, paid(1050, 'EUR'));
    qr.provider.script = () => undefined;
    const [, , cancelled, refunded] = (await published(crossed, 4)).items;
    assert.deepEqual([cancelled.type, refunded.type], ['qr.cancelled', 'qr.refunded']);
    const { data } = cancelled;
    assert.deepEqual([data.paidAmount, data.refundAmount], [1050, 1050]);
    assert.equal(data.refundId, refunded.data.refundId);
    assert.equal(refunded.data.paidAmount, undefined);
  });
});
