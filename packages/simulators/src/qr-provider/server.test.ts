// Whole run: much is made, or waited for, before it shows.
// The reference provider over the wire: codes, stories, events, restarts and books.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { defined } from '@switchyard/contract';
import { readMerchantCode } from '@switchyard/emv';
import {
  type CreateQrPayment,
  displayFault,
  type ProviderEvent,
  providerCallText,
  providerPaths,
  type QrDisplay,
  signCall,
} from '@switchyard/sdk-provider';
import { readPicture } from '../../test/read-qr-picture.ts';
import { qrLedgerDifferences, readQrLedger } from './payment-ledger.ts';
import { type QrProviderOptions, type QrProviderServer, startQrProvider } from './server.ts';

const limitMs = 60_000;
/** For calls without an answer: the time in which they reach the provider. */
const unansweredMs = 2000;
/** The published sample of a code that a consumer shows, with a card number in it. */
const consumerCode =
  'hQVDUFYwMWETTwegAAAAVVVVUAhQcm9kdWN0MWETTwegAAAAZmZmUAhQcm9kdWN0MmJJWggSNFZ4kBI0WF8gDkNBUkRIT0xERVIvRU1WXy0IcnVlc2RlZW5kIZ8QBwYBCgMAAACfJghYT9OF+iNLzJ82AgABnzcEbVjvEw==';

type Answer = { status: number; headers: Headers; body: Record<string, unknown> };

async function eventually(holds: () => boolean, description: string): Promise<void> {
  const until = Date.now() + limitMs;
  while (!holds()) {
    assert.ok(Date.now() < until, description);
    await pause(5);
  }
}

describe('the reference provider', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'qr-provider-'));
  const events: { id: string; authorization: string; event: ProviderEvent }[] = [];
  /** The answers of the platform to events; 202 by default. */
  const moods: number[] = [];
  async function receiveEvent(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const status = moods.shift() ?? 202;
    if (status === 202) {
      const id = request.url?.split('/').at(-2) ?? '';
      const { authorization = '' } = request.headers;
      events.push({ id, authorization, event: JSON.parse(text) as ProviderEvent });
    }
    response.writeHead(status).end();
  }
  const listener = createServer((request, response) => {
    receiveEvent(request, response).catch(() => response.destroy());
  });
  let eventsBase = '';
  let secret = '';
  let provider: QrProviderServer;

  const start = (change: Partial<QrProviderOptions> = {}) =>
    startQrProvider({
      host: '127.0.0.1',
      port: 0,
      dataDir,
      platform: 'check',
      stepMs: 5,
      lateMs: 200,
      retryMs: [20],
      ...change,
    });

  before(async () => {
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    eventsBase = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
    provider = await start();
    secret = readFileSync(join(dataDir, 'signing-secret'), 'utf8').trim();
  });
  after(async () => {
    await provider.stop();
    listener.closeAllConnections();
    listener.close();
    rmSync(dataDir, { recursive: true });
  });

  function payment(amount: number, change: Partial<CreateQrPayment> = {}): CreateQrPayment {
    const platformTransactionId = randomUUID();
    return {
      platformTransactionId,
      clientTransactionId: `till-7:${platformTransactionId.slice(0, 8)}`,
      serviceId: randomUUID(),
      paymentType: 'demopay',
      paymentScenario: 'consumerscan',
      amount: { amount, currency: 'EUR' },
      merchant: {
        merchantId: '01990000-0000-7000-8000-000000000010',
        name: 'Café Lumière au bord du canal',
        acquirerId: randomUUID(),
        storeId: randomUUID(),
        storeName: 'Saint-Martin',
        terminalId: '01990000-0000-7000-8000-000000000030',
        mcc: '5814',
        country: 'FR',
        city: 'Paris',
      },
      createdAt: new Date().toISOString(),
      expiresAt: new Date(Date.now() + 60_000).toISOString(),
      eventsUrl: `${eventsBase}/transactions/${platformTransactionId}/events`,
      ...change,
    };
  }

  const scanned = (amount: number, scannedPaymentId = '134567890123456789') =>
    payment(amount, { paymentScenario: 'merchantscan', scannedPaymentId });

  async function call(
    method: string,
    path: string,
    message?: object,
    withinMs = limitMs,
  ): Promise<Answer> {
    const body = message === undefined ? undefined : JSON.stringify(message);
    const text = body ?? providerCallText('GET', path);
    const headers = signCall({ id: randomUUID(), at: Date.now(), text, secrets: [secret] });
    const answer = await fetch(`${provider.url}${path}`, {
      method,
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(withinMs),
      ...defined({ body }),
    });
    const answerBody = (await answer.json()) as Record<string, unknown>;
    return { status: answer.status, headers: answer.headers, body: answerBody };
  }

  const create = (message: CreateQrPayment, withinMs?: number) =>
    call('POST', providerPaths.payments, message, withinMs);
  const statusOf = async ({ platformTransactionId: id }: CreateQrPayment) =>
    (await call('GET', providerPaths.payment(id))).body['status'];
  const cancel = ({ platformTransactionId }: CreateQrPayment) =>
    call('POST', providerPaths.cancel(platformTransactionId), {
      platformTransactionId,
      reason: 'Merchant',
      requestedAt: new Date().toISOString(),
    });
  const refund = (
    { platformTransactionId }: CreateQrPayment,
    amount: number,
    refundId: string = randomUUID(),
    withinMs?: number,
  ) => {
    const refundMembers = { refundId, platformTransactionId, amount: { amount, currency: 'EUR' } };
    const message = { ...refundMembers, requestedAt: new Date().toISOString() };
    return call('POST', providerPaths.refunds(platformTransactionId), message, withinMs);
  };
  const eventsOf = ({ platformTransactionId }: CreateQrPayment) =>
    events.filter(({ id }) => id === platformTransactionId).map(({ event }) => event);
  const typesOf = (message: CreateQrPayment) => eventsOf(message).map(({ type }) => type);
  const waitForEvent = (message: CreateQrPayment, type: string) =>
    eventually(() => typesOf(message).includes(type), `${type} was never sent`);

  // Spec: QRPROV-9
  it('shows a code that a real decoder reads, in every form', async () => {
    const forms: [number, QrDisplay['type']][] = [
      [9011, 'text/emvqr'],
      [9012, 'image/png'],
      [9013, 'image/svg+xml'],
      [9014, 'url'],
    ];
    for (const [amount, type] of forms) {
      const message = payment(amount);
      const { status, body } = await create(message);
      assert.equal(status, 200);
      const display = body['display'] as QrDisplay;
      assert.equal(display.type, type);
      assert.equal(displayFault(display), undefined);
      const text =
        type === 'url'
          ? (new URL(display.data).searchParams.get('code') ?? '')
          : readPicture(display);
      const code = readMerchantCode(text);
      assert.equal(code.initiation, 'Dynamic');
      assert.deepEqual([code.amount, code.currency], [`${(amount / 100).toFixed(2)}`, '978']);
      assert.deepEqual(
        [code.merchantName, code.merchantCity, code.countryCode, code.merchantCategoryCode],
        ['Café Lumière au bord du c', 'Paris', 'FR', '5814'],
      );
      assert.deepEqual(code.additional, {
        referenceLabel: body['providerTransactionId'],
        terminalLabel: '000000000030',
      });
    }
  });

  it('completes a payment when the consumer scans, and sends an event for each step', async () => {
    const message = payment(1050);
    const { body } = await create(message);
    assert.equal(body['status'], 'Pending');
    assert.equal((body['display'] as QrDisplay).type, 'image/png');
    await waitForEvent(message, 'payment.completed');
    const paymentEvents = eventsOf(message);
    assert.deepEqual(
      paymentEvents.map(({ type, sequence, status }) => [type, sequence, status]),
      [
        ['payment.scanned', 1, 'Scanned'],
        ['payment.completed', 2, 'Completed'],
      ],
    );
    assert.deepEqual(paymentEvents[1]?.amount, { amount: 1050, currency: 'EUR' });
    assert.equal(events[0]?.authorization, 'Bearer check');
    assert.equal(await statusOf(message), 'Completed');
  });

  // Spec: QRPROV-9
  it('answers at once when the merchant scans, and does not store the scanned code', async () => {
    const wallet = await create(scanned(1050));
    assert.deepEqual(
      [wallet.body['status'], wallet.body['payer'], wallet.body['display']],
      ['Completed', { maskedId: 'WeChat ****6789' }, undefined],
    );
    const card = await create(scanned(1051, consumerCode));
    assert.deepEqual(card.body['payer'], { maskedId: '123456******3458' });
    const torn = await create(scanned(1052, `${consumerCode.slice(0, 40)}=`));
    assert.deepEqual(
      [torn.body['status'], Object(torn.body['failure'])['code']],
      ['Declined', 'code_unreadable'],
    );
    const { scannedPaymentId: _left, ...without } = scanned(1053);
    assert.equal((await create(without as CreateQrPayment)).status, 422);
    // In every scenario the scanned code of the consumer pays.
    const odd = await create(payment(1054, { scannedPaymentId: '287763443825664394' }));
    assert.equal(odd.body['status'], 'Completed');
    const storedFiles = readdirSync(dataDir).map((name) =>
      readFileSync(join(dataDir, name), 'latin1'),
    );
    for (const text of ['1234567890123458', '134567890123456789', consumerCode.slice(0, 40)]) {
      assert.ok(!storedFiles.some((file) => file.includes(text)));
    }
  });

  it('ends each payment as its test amount specifies, in both scenarios', async () => {
    const ends: [number, string, string][] = [
      [9001, 'Completed', 'payment.authorized'],
      [9005, 'Declined', 'payment.declined'],
      [9006, 'Failed', 'payment.failed'],
      [9007, 'Cancelled', 'payment.cancelled'],
    ];
    for (const [amount, status, type] of ends) {
      const createdPayment = payment(amount);
      await create(createdPayment);
      await waitForEvent(createdPayment, type);
      if (status === 'Completed') await waitForEvent(createdPayment, 'payment.completed');
      assert.equal(await statusOf(createdPayment), status, String(amount));
      const read = scanned(amount);
      const { body } = await create(read);
      if (amount === 9001) await waitForEvent(read, 'payment.completed');
      else assert.equal(body['status'], status);
      assert.equal(await statusOf(read), status);
    }
    const declined = scanned(9005);
    assert.equal(Object((await create(declined)).body['failure'])['code'], 'insufficient_funds');
    const shortly = new Date(Date.now() + 30).toISOString();
    const lapsed = payment(9008, { expiresAt: shortly });
    const ignored = payment(9009, { expiresAt: shortly });
    await Promise.all([create(lapsed), create(ignored)]);
    await waitForEvent(lapsed, 'payment.expired');
    assert.equal(await statusOf(ignored), 'Pending');
    assert.deepEqual(typesOf(ignored), []);
    const late = payment(9067, { expiresAt: shortly });
    await create(late);
    await waitForEvent(late, 'payment.completed');
    assert.equal(await statusOf(late), 'Completed');
  });

  it('may answer later: the picture follows', async () => {
    const message = payment(9002);
    const { status, body } = await create(message);
    assert.deepEqual([status, body['status'], body['display']], [202, 'Created', undefined]);
    await waitForEvent(message, 'payment.completed');
    const [first] = eventsOf(message);
    assert.equal(first?.type, 'payment.pending');
    assert.equal(first?.display?.type, 'image/png');
  });

  it('sends events early, twice, in the wrong order, with wrong content, or not at all', async () => {
    const early = payment(9060);
    const { body } = await create(early);
    assert.equal(body['status'], 'Pending');
    assert.deepEqual(typesOf(early), ['payment.completed'], 'before the answer');

    const twice = payment(9061);
    await create(twice);
    await eventually(() => eventsOf(twice).length === 4, 'twice');
    assert.equal(new Set(eventsOf(twice).map(({ eventId }) => eventId)).size, 2);

    const turned = payment(9062);
    await create(turned);
    await eventually(() => eventsOf(turned).length === 2, 'turned');
    assert.deepEqual(
      eventsOf(turned).map(({ type, sequence }) => [type, sequence]),
      [
        ['payment.completed', 2],
        ['payment.scanned', 1],
      ],
    );

    const lie = payment(9063);
    await create(lie);
    await waitForEvent(lie, 'payment.declined');
    assert.equal(await statusOf(lie), 'Completed');

    const less = payment(9064);
    await create(less);
    await waitForEvent(less, 'payment.completed');
    assert.equal(eventsOf(less).at(-1)?.amount?.amount, 9063);

    const silent = payment(9065);
    await create(silent);
    const until = Date.now() + limitMs;
    while ((await statusOf(silent)) !== 'Completed') assert.ok(Date.now() < until);
    assert.deepEqual(typesOf(silent), []);
  });

  it('spoils an answer once, and answers the repetition', async () => {
    for (const [amount, spoilt] of [
      [9051, 500],
      [9058, 307],
    ] as const) {
      const message = payment(amount);
      assert.equal((await create(message)).status, spoilt);
      assert.equal((await create(message)).status, 200);
    }
    await Promise.all(
      [9052, 9054, 9055, 9057].map(async (amount) => {
        const message = payment(amount);
        await assert.rejects(create(message, unansweredMs), `${amount} is answered`);
        assert.equal((await create(message)).status, 200);
      }),
    );
    const late = payment(9053);
    const begun = performance.now();
    await create(late);
    assert.ok(performance.now() - begun >= 190);
    const large = await create(payment(9056));
    assert.ok(Number(large.headers.get('content-length')) > 65_536);
    for (const [amount, status] of [
      [9022, 422],
      [9050, 500],
      [9059, 503],
    ] as const) {
      const message = payment(amount);
      const answer = await create(message);
      assert.equal(answer.status, status);
      assert.equal(answer.headers.get('retry-after'), status === 503 ? '1' : null);
      const { platformTransactionId: id } = message;
      assert.equal((await call('GET', providerPaths.payment(id))).status, 404, 'not taken');
    }
  });

  it('creates one payment for repeated identical requests, and refuses a request with different content', async () => {
    const message = payment(9009);
    const answers = await Promise.all(Array.from({ length: 10 }, () => create(message)));
    assert.equal(new Set(answers.map(({ body }) => body['providerTransactionId'])).size, 1);
    const other = { ...message, amount: { amount: 9010, currency: 'EUR' } };
    assert.deepEqual((await create(other)).body['code'], 'payment_differs');
  });

  it('answers cancel requests for pending, paid and unknown payments', async () => {
    const waiting = payment(9009);
    await create(waiting);
    for (let time = 0; time < 2; time += 1) {
      assert.deepEqual((await cancel(waiting)).body['status'], 'Cancelled');
    }
    const paid = scanned(1050);
    await create(paid);
    assert.deepEqual((await cancel(paid)).body['status'], 'Completed');
    const unknown = payment(1050);
    assert.deepEqual((await cancel(unknown)).body['status'], 'Cancelled');
    const { status, body } = await create(unknown);
    assert.deepEqual([status, body['status'], body['display']], [200, 'Cancelled', undefined]);
    const crossing = payment(9066);
    await create(crossing);
    assert.equal((await cancel(crossing)).body['status'], 'Cancelled');
    await waitForEvent(crossing, 'payment.completed');
    assert.equal(await statusOf(crossing), 'Completed');
    const before = payment(9068);
    await create(before);
    const tooLate = await cancel(before);
    assert.deepEqual([tooLate.status, tooLate.body['paymentStatus']], [409, 'Completed']);
    const slow = payment(9069);
    await create(slow);
    const tries = [await cancel(slow), await cancel(slow), await cancel(slow)];
    assert.deepEqual(
      tries.map(({ status: each }) => each),
      [500, 500, 200],
    );
  });

  it('refunds a payment up to the paid amount, and makes a repeated refund only once', async () => {
    const message = scanned(50_000);
    await create(message);
    const refundId = randomUUID();
    const made = await refund(message, 9083, refundId);
    assert.equal(made.status, 500);
    assert.equal((await refund(message, 9083, refundId)).status, 500);
    assert.equal((await refund(message, 9083, refundId)).body['status'], 'Completed');
    assert.equal((await refund(message, 100, refundId)).body['code'], 'refund_differs');
    assert.equal(await statusOf(message), 'PartiallyRefunded');
    assert.equal((await refund(message, 9081)).body['status'], 'Declined');
    const pending = randomUUID();
    const waits = await refund(message, 9080, pending);
    assert.deepEqual([waits.status, waits.body['status']], [202, 'Pending']);
    await waitForEvent(message, 'refund.completed');
    const refundPath = providerPaths.refund(message.platformTransactionId, pending);
    assert.equal((await call('GET', refundPath)).body['status'], 'Completed');
    await refund(message, 9082);
    await waitForEvent(message, 'refund.declined');
    await assert.rejects(refund(message, 9084, randomUUID(), unansweredMs));
    const over = await refund(message, 30_000);
    assert.deepEqual([over.status, over.body['code']], [422, 'refund_too_much']);
    await refund(message, 50_000 - 9083 - 9080 - 9084);
    assert.equal(await statusOf(message), 'Refunded');
    const unpaid = payment(9009);
    await create(unpaid);
    assert.equal((await refund(unpaid, 1)).body['code'], 'payment_not_paid');
    assert.equal((await refund(payment(1), 1)).body['code'], 'payment_not_found');
    const last = eventsOf(message).map(({ refundId: id, type }) => [type, id === pending]);
    assert.deepEqual(last.slice(0, 1), [['refund.completed', true]]);
  });

  it('continues after a restart with its payments, steps and events', async () => {
    const expiresAt = new Date(Date.now() + 1_800_000).toISOString();
    const message = payment(1070, { expiresAt });
    await provider.stop();
    provider = await start({ stepMs: 60_000 });
    await create(message);
    await provider.stop();
    // Its steps are an hour away in a file that says when they are due: brought near by the clock.
    const clock = { now: () => Date.now() + 3_600_000 };
    moods.push(503, 503, 500);
    provider = await start({ clock });
    secret = readFileSync(join(dataDir, 'signing-secret'), 'utf8').trim();
    await waitForEvent(message, 'payment.completed');
    await waitForEvent(message, 'payment.scanned');
    assert.equal(typesOf(message).length, 2);
    await provider.stop();
    const ledger = readQrLedger(dataDir);
    const ledgerPayment = ledger.payments.find(
      ({ platformTransactionId: id }) => id === message.platformTransactionId,
    );
    assert.deepEqual(
      [
        ledgerPayment?.status,
        ledgerPayment?.amount,
        ledgerPayment?.refunded,
        ledgerPayment?.unsentEvents,
      ],
      ['Completed', 1070, 0, 0],
    );
    assert.deepEqual(ledger.faults, []);
    assert.equal(statSync(join(dataDir, 'qr-payments.jsonl')).mode & 0o777, 0o600);
    const others = ledger.payments.map(({ platformTransactionId, ...rest }) => ({
      transactionId: platformTransactionId,
      ...rest,
    }));
    assert.deepEqual(qrLedgerDifferences(ledger, others), []);
    const [first] = others;
    assert.ok(first);
    const wrong = [{ ...first, amount: first.amount + 1 }, ...others.slice(1)];
    assert.equal(qrLedgerDifferences(ledger, wrong).length, 1);
    assert.equal(qrLedgerDifferences(ledger, others.slice(1)).length, 1);
    provider = await start();
    assert.deepEqual(provider.ledger().totals, ledger.totals);
  });

  it('answers 503 after it is set to down, also after a restart', async () => {
    provider.setDown(true);
    assert.deepEqual((await call('GET', providerPaths.health)).body, { status: 'Down' });
    assert.equal((await create(payment(1))).status, 503);
    await provider.stop();
    provider = await start();
    assert.equal((await create(payment(1))).status, 503);
    provider.setDown(false);
    assert.deepEqual((await call('GET', providerPaths.health)).body, { status: 'Up' });
  });
});
