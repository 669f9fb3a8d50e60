// The host through a real socket: each rule of the link and of the amounts.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { parseIssuerResponse } from '@switchyard/emv';
import type { Fields, Message } from '@switchyard/iso8583';
import { type AcquirerHost, type LedgerTotals, readLedger, startAcquirerHost } from '../index.ts';
import {
  connectAndSignOn,
  connectClient,
  createTerminalRequests,
  encodeMessageFrame,
  type Iso8583Client,
  networkMessage,
  repeatMessage,
  waitUntil,
} from './iso8583-client.fixture.ts';

const lateMs = 60;
const slowMs = 30;

function codeOf(answer: Message): string | undefined {
  return answer.fields[39];
}

describe('the acquirer host', () => {
  let ledgerDir: string;
  let host: AcquirerHost;
  let merchants = 0;
  const clients: Iso8583Client[] = [];

  before(async () => {
    ledgerDir = mkdtempSync(join(tmpdir(), 'acquirer-host-'));
    host = await startAcquirerHost({ host: '127.0.0.1', port: 0, ledgerDir, lateMs, slowMs });
  });
  after(async () => {
    await host.stop();
    const { faults } = readLedger(ledgerDir);
    rmSync(ledgerDir, { recursive: true });
    assert.deepEqual(faults, []);
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });

  async function signedOn(): Promise<Iso8583Client> {
    const client = await connectAndSignOn(host.port);
    clients.push(client);
    return client;
  }

  /** A merchant of the test's own, so that its sums are, too. */
  function ownTill(terminal = 'TERM0001') {
    merchants++;
    const merchant = `SHOP${String(merchants).padStart(11, '0')}`;
    const totals = (): Partial<LedgerTotals> =>
      host.ledger().totals.find((row) => row.merchant === merchant) ?? {};
    return { ...createTerminalRequests(terminal, merchant), merchant, totals };
  }

  function assertTotals(actual: Partial<LedgerTotals>, expected: Partial<LedgerTotals>): void {
    for (const [name, amount] of Object.entries(expected)) {
      assert.equal(actual[name as keyof LedgerTotals], amount, name);
    }
  }

  it('takes no payments before sign-on and after sign-off', async () => {
    const till = ownTill();
    const client = await connectClient(host.port);
    clients.push(client);
    assert.equal(codeOf(await client.sendAndWait(networkMessage('301', '000010'))), '00');
    assert.equal(codeOf(await client.sendAndWait(till.sale(1000))), '58');
    assert.equal(codeOf(await client.sendAndWait(networkMessage('001', '000011'))), '00');
    assert.equal(codeOf(await client.sendAndWait(till.sale(1000))), '00');
    assert.equal(codeOf(await client.sendAndWait(networkMessage('002', '000012'))), '00');
    assert.equal(codeOf(await client.sendAndWait(till.sale(1000))), '58');
    assert.equal(codeOf(await client.sendAndWait(networkMessage('161', '000013'))), '12');
    assertTotals(till.totals(), { captured: 1000, approvals: 1 });
  });

  it('echoes the request fields that the client uses to match an answer to its request', async () => {
    const till = ownTill();
    const client = await signedOn();
    const request = till.sale(1234, { 55: '9F2608584FD385FA234BCC' });
    const answer = await client.sendAndWait(request);
    assert.equal(answer.mti, '0210');
    for (const field of [3, 4, 7, 11, 12, 13, 32, 37, 41, 42, 49]) {
      assert.equal(answer.fields[field], request.fields[field], `DE${field}`);
    }
    assert.match(answer.fields[38] ?? '', /^[0-9A-Z]{6}$/);
    const { issuerAuthenticationData } = parseIssuerResponse(answer.fields[55] ?? '');
    assert.match(issuerAuthenticationData ?? '', /^[0-9A-F]{16}3030$/);
    assert.equal(answer.fields[2], undefined);
    assert.equal((await client.sendAndWait(till.sale(1234))).fields[55], undefined);
    assert.equal((await client.sendAndWait(till.hold(1))).mti, '0110');
    assert.equal((await client.sendAndWait(networkMessage('301', '000020'))).mti, '0810');
  });

  it('answers 9000 to 9098 with the last two digits as response code', async () => {
    const till = ownTill();
    const client = await signedOn();
    for (const code of ['05', '51', '54', '55', '96']) {
      const answer = await client.sendAndWait(till.sale(Number(`190${code}`)));
      assert.equal(codeOf(answer), code);
      assert.equal(answer.fields[38], undefined);
    }
    for (const code of ['00', '08', '11']) {
      assert.equal(codeOf(await client.sendAndWait(till.hold(Number(`90${code}`)))), code);
    }
    assert.equal(codeOf(await client.sendAndWait(till.sale(5100))), '00');
    assertTotals(till.totals(), {
      captured: 5100,
      openHolds: 9000 + 9008 + 9011,
      approvals: 4,
      declines: 5,
    });
  });

  it('records the reference number of each movement', async () => {
    const till = ownTill();
    const client = await signedOn();
    const sale = till.sale(3000);
    await client.sendAndWait(sale);
    const refund = till.refund(sale, 1000);
    await client.sendAndWait(refund);
    const movements = readLedger(ledgerDir).movements.filter(
      ({ merchant }) => merchant === till.merchant,
    );
    assert.deepEqual(
      movements.map(({ kind, rrn, amount }) => [kind, rrn, amount]),
      [
        ['sale', sale.fields[37], 3000],
        ['refund', refund.fields[37], 1000],
      ],
    );
  });

  it('sends new keys after a sale of 9099', async (t) => {
    const keysDir = mkdtempSync(join(tmpdir(), 'acquirer-host-'));
    const zoneMaster = { algorithm: 'Aes', key: Buffer.alloc(16, 0x31) } as const;
    const facts = { host: '127.0.0.1', port: 0, ledgerDir: keysDir, lateMs, slowMs };
    const keyed = await startAcquirerHost({ ...facts, keys: { zoneMaster } });
    t.after(async () => {
      await keyed.stop();
      rmSync(keysDir, { recursive: true });
    });
    const client = await connectAndSignOn(keyed.port);
    clients.push(client);
    const till = ownTill();
    assert.equal(codeOf(await client.sendAndWait(till.sale(1000))), '00');
    assert.equal(codeOf(await client.sendAndWait(till.sale(9099))), '00');
    const keys = () => client.answers.filter(({ fields }) => fields[70] === '101');
    await waitUntil(() => keys().length > 0, 'a new key');
    assert.match(keys()[0]?.fields[48] ?? '', /^PT01/);
    assert.equal(keys().length, 1);
  });

  it('approves half of 9010', async () => {
    const till = ownTill();
    const client = await signedOn();
    const answer = await client.sendAndWait(till.sale(29_010));
    assert.equal(codeOf(answer), '10');
    assert.equal(answer.fields[4], '000000014505');
    assertTotals(till.totals(), { captured: 14_505 });
  });

  it('records a sale without answering it, and answers the repeated message', async () => {
    const till = ownTill();
    const client = await signedOn();
    const sale = till.sale(9091);
    client.send(sale);
    assert.equal(codeOf(await client.sendAndWait(till.sale(1000))), '00');
    assert.equal(client.answers.length, 2, 'sign-on and the second sale');
    assertTotals(till.totals(), { captured: 10_091 });
    const repeated = await client.sendAndWait(repeatMessage(sale));
    assert.equal(repeated.mti, '0210');
    assert.equal(codeOf(repeated), '00');
    assertTotals(till.totals(), { captured: 10_091, approvals: 2 });
  });

  it('answers 9092 late and 9098 slowly', async () => {
    const till = ownTill();
    const client = await signedOn();
    const late = till.sale(9092);
    const slow = till.sale(9098);
    const usual = till.sale(1000);
    client.write(Buffer.concat([late, slow, usual].map(encodeMessageFrame)));
    await waitUntil(() => client.answers.length === 4, 'all answers');
    assertTotals(till.totals(), { captured: 19_190 });
    const order = client.answers.map((answer) => answer.fields[11]);
    assert.deepEqual(
      order.slice(1),
      [usual, slow, late].map(({ fields }) => fields[11]),
    );
  });

  it('closes the socket on 9093, after it has recorded', async () => {
    const till = ownTill();
    const client = await signedOn();
    const sale = till.sale(9093);
    client.send(sale);
    await waitUntil(() => client.closed, 'the connection to close');
    assert.equal(client.answers.length, 1);
    assertTotals(till.totals(), { captured: 9093 });
    const again = await signedOn();
    assert.equal(codeOf(await again.sendAndWait(till.reversal(sale))), '00');
    assertTotals(till.totals(), { captured: 0, reversed: 9093 });
  });

  it('answers 9094 twice and garbles 9095', async () => {
    const till = ownTill();
    const client = await signedOn();
    client.send(till.sale(9094));
    await waitUntil(() => client.answers.length === 3, 'both answers');
    assert.deepEqual(client.answers[1], client.answers[2]);
    const garbled = till.sale(9095);
    client.send(garbled);
    await waitUntil(() => client.garbled === 1, 'a garbled answer');
    assert.equal(codeOf(await client.sendAndWait(repeatMessage(garbled))), '00');
    assertTotals(till.totals(), { captured: 18_189, approvals: 2 });
  });

  it('signs off after 9101, sends a cut-over after 9102, and answers 9103 with another amount', async () => {
    const till = ownTill();
    const client = await signedOn();
    const requests = (code: string) => client.answers.filter(({ fields }) => fields[70] === code);
    assert.equal(codeOf(await client.sendAndWait(till.sale(9102))), '00');
    await waitUntil(() => requests('201').length === 1, 'a cut-over');
    const answer = await client.sendAndWait(till.sale(9103));
    assert.deepEqual([codeOf(answer), answer.fields[4]], ['00', '000000009104']);
    assert.equal(codeOf(await client.sendAndWait(till.sale(9101))), '00');
    await waitUntil(() => requests('002').length === 1, 'a sign-off');
    assert.equal(codeOf(await client.sendAndWait(till.sale(1000))), '58');
    assertTotals(till.totals(), { captured: 9101 + 9102 + 9103, approvals: 3 });
  });

  it('captures pre-authorizations up to the held amount and not above it', async () => {
    const till = ownTill();
    const client = await signedOn();
    const preAuthorization = till.hold(10_000);
    const approval = (await client.sendAndWait(preAuthorization)).fields[38];
    const first = await client.sendAndWait(till.capture(preAuthorization, 4000));
    assert.equal(first.mti, '0230');
    assert.equal(first.fields[38], approval);
    assert.equal(codeOf(await client.sendAndWait(till.capture(preAuthorization, 6001))), '61');
    assert.equal(codeOf(await client.sendAndWait(till.capture(preAuthorization, 0))), '13');
    assert.equal(
      codeOf(await client.sendAndWait(till.capture(preAuthorization, 1000, { 49: '840' }))),
      '12',
    );
    assertTotals(till.totals(), { openHolds: 6000, captured: 4000, captures: 1, declines: 3 });
    assert.equal(codeOf(await client.sendAndWait(till.capture(preAuthorization, 6000))), '00');
    assertTotals(till.totals(), { openHolds: 0, captured: 10_000, captures: 2 });
    const sale = till.sale(1000);
    await client.sendAndWait(sale);
    assert.equal(codeOf(await client.sendAndWait(till.capture(sale, 1000))), '12');
  });

  it('refunds up to the captured amount and not above it', async () => {
    const till = ownTill();
    const client = await signedOn();
    const sale = till.sale(10_000);
    await client.sendAndWait(sale);
    const preAuthorization = till.hold(5000);
    await client.sendAndWait(preAuthorization);
    assert.equal(codeOf(await client.sendAndWait(till.refund(preAuthorization, 1))), '61');
    const refund = till.refund(sale, 6000);
    assert.equal(codeOf(await client.sendAndWait(refund)), '00');
    assert.equal(codeOf(await client.sendAndWait(till.refund(sale, 6000))), '61');
    const again = await client.sendAndWait(repeatMessage(refund));
    assert.equal(again.mti, '0210');
    assert.equal(codeOf(again), '00');
    assertTotals(till.totals(), { captured: 10_000, refunded: 6000, net: 4000, refunds: 1 });
    const byReference: Fields = { 90: undefined, 37: sale.fields[37] };
    assert.equal(codeOf(await client.sendAndWait(till.refund(sale, 4000, byReference))), '00');
    assertTotals(till.totals(), { refunded: 10_000, net: 0 });
    assert.equal(codeOf(await client.sendAndWait(till.refund(sale, 9051))), '61');
  });

  it('applies the amount rules to captures and refunds', async () => {
    const till = ownTill();
    const client = await signedOn();
    const preAuthorization = till.hold(50_000);
    await client.sendAndWait(preAuthorization);
    assert.equal(codeOf(await client.sendAndWait(till.capture(preAuthorization, 9051))), '51');
    assert.equal(codeOf(await client.sendAndWait(till.capture(preAuthorization, 9010))), '00');
    const silent = till.capture(preAuthorization, 9091);
    client.send(silent);
    assert.equal(codeOf(await client.sendAndWait(repeatMessage(silent))), '00');
    const refund = till.refund(preAuthorization, 9091);
    client.send(refund);
    assert.equal(codeOf(await client.sendAndWait(repeatMessage(refund))), '00');
    assertTotals(till.totals(), { captured: 18_101, refunded: 9091, openHolds: 31_899 });
  });

  it('reverses a transaction completely or down to a replacement amount', async () => {
    const till = ownTill();
    const client = await signedOn();
    const preAuthorization = till.hold(10_000);
    await client.sendAndWait(preAuthorization);
    assert.equal(codeOf(await client.sendAndWait(till.reversal(preAuthorization, 7000))), '00');
    assertTotals(till.totals(), { openHolds: 7000, reversed: 3000 });
    await client.sendAndWait(till.capture(preAuthorization, 5000));
    assert.equal(codeOf(await client.sendAndWait(till.reversal(preAuthorization, 4999))), '61');
    assert.equal(codeOf(await client.sendAndWait(till.reversal(preAuthorization, 7001))), '61');
    assert.equal(codeOf(await client.sendAndWait(till.reversal(preAuthorization))), '61');
    assert.equal(codeOf(await client.sendAndWait(till.reversal(preAuthorization, 5000))), '00');
    assertTotals(till.totals(), { openHolds: 0, captured: 5000, reversed: 5000, reversals: 2 });
    const sale = till.sale(2000);
    await client.sendAndWait(sale);
    assert.equal(codeOf(await client.sendAndWait(till.reversal(sale))), '00');
    assertTotals(till.totals(), { captured: 5000, reversed: 7000 });
  });

  it('takes a second reversal and that of a decline without effect', async () => {
    const till = ownTill();
    const client = await signedOn();
    const preAuthorization = till.hold(3000);
    await client.sendAndWait(preAuthorization);
    const reversal = till.reversal(preAuthorization);
    for (const message of [
      reversal,
      repeatMessage(reversal),
      reversal,
      till.reversal(preAuthorization),
    ]) {
      const answer = await client.sendAndWait(message);
      assert.equal(answer.mti, '0430');
      assert.equal(codeOf(answer), '00');
    }
    assertTotals(till.totals(), { openHolds: 0, reversed: 3000 });
    const declined = till.sale(9051);
    await client.sendAndWait(declined);
    assert.equal(codeOf(await client.sendAndWait(till.reversal(declined))), '00');
    assertTotals(till.totals(), { captured: 0, reversed: 3000 });
    assert.equal(
      codeOf(await client.sendAndWait({ ...till.reversal(preAuthorization), mti: '0400' })),
      '00',
    );
  });

  it('answers 25 if the original transaction is unknown or belongs to another merchant', async () => {
    const till = ownTill();
    const otherTill = ownTill();
    const client = await signedOn();
    const sale = till.sale(3000);
    for (const make of [till.capture, till.refund]) {
      assert.equal(codeOf(await client.sendAndWait(make(sale, 3000))), '25');
    }
    assert.equal(codeOf(await client.sendAndWait(till.reversal(sale))), '25');
    await client.sendAndWait(sale);
    otherTill.sale(1);
    assert.equal(codeOf(await client.sendAndWait(otherTill.refund(sale, 3000))), '25');
    assert.equal(codeOf(await client.sendAndWait(otherTill.reversal(sale))), '25');
    assertTotals(till.totals(), { captured: 3000, reversed: 0 });
  });

  it('answers a duplicate as before, without double effect', async () => {
    const till = ownTill();
    const client = await signedOn();
    for (const message of [till.sale(1000), till.hold(1000), till.sale(9051), till.hold(9010)]) {
      const first = await client.sendAndWait(message);
      assert.deepEqual(await client.sendAndWait(message), first);
      assert.deepEqual(await client.sendAndWait(repeatMessage(message)), first);
    }
    assertTotals(till.totals(), { captured: 1000, openHolds: 5505, approvals: 3, declines: 1 });
  });

  it('loses the answers of two reversals of one card', async () => {
    const till = ownTill();
    const client = await signedOn();
    const sale = till.sale(1000, { 2: '4000000000004202' });
    await client.sendAndWait(sale);
    const reversal = till.reversal(sale);
    client.send(reversal);
    client.send(repeatMessage(reversal));
    await client.sendAndWait(networkMessage('301', '000030'));
    assert.equal(client.answers.length, 3, 'sign-on, sale and echo');
    assertTotals(till.totals(), { captured: 0, reversed: 1000, reversals: 1 });
    assert.equal(codeOf(await client.sendAndWait(repeatMessage(reversal))), '00');
    assertTotals(till.totals(), { reversed: 1000, reversals: 1 });
  });

  it('refuses three reversals of another card, then takes them', async () => {
    const till = ownTill();
    const client = await signedOn();
    const preAuthorization = till.hold(1000, { 2: undefined, 35: '4000000000004210=2812201' });
    await client.sendAndWait(preAuthorization);
    const reversal = till.reversal(preAuthorization);
    for (const message of [reversal, repeatMessage(reversal), repeatMessage(reversal)]) {
      assert.equal(codeOf(await client.sendAndWait(message)), '96');
    }
    assertTotals(till.totals(), { openHolds: 1000 });
    assert.equal(codeOf(await client.sendAndWait(repeatMessage(reversal))), '00');
    assertTotals(till.totals(), { openHolds: 0, reversed: 1000 });
  });

  it('answers format errors and unknown transactions by their codes', async () => {
    const till = ownTill();
    const client = await signedOn();
    for (const field of [2, 3, 4, 7, 41, 42, 49]) {
      assert.equal(codeOf(await client.sendAndWait(till.sale(1000, { [field]: undefined }))), '30');
    }
    assert.equal(codeOf(await client.sendAndWait(till.sale(1000, { 3: '300000' }))), '12');
    assert.equal(codeOf(await client.sendAndWait(till.hold(1000, { 3: '200000' }))), '12');
    assert.equal(codeOf(await client.sendAndWait({ ...till.sale(1000), mti: '0500' })), '12');
    assert.equal(codeOf(await client.sendAndWait(till.sale(0))), '13');
    assert.equal(codeOf(await client.sendAndWait(till.hold(0))), '00');
    const odd = till.reversal(till.sale(1), 0, { 95: 'A'.repeat(42) });
    assert.equal(codeOf(await client.sendAndWait(odd)), '30');
    client.send({ ...till.sale(1000), mti: '0210' });
    await client.sendAndWait(networkMessage('301', '000040'));
    assertTotals(till.totals(), { captured: 0, openHolds: 0 });
  });

  it('cuts connections that send garbage, and serves the others', async () => {
    const till = ownTill();
    const steady = await signedOn();
    const garbage = [
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      Buffer.from([0xff, 0xff]),
      Buffer.from([0, 3, 1, 2, 3]),
      Buffer.concat([encodeMessageFrame(till.sale(77)), Buffer.from([0, 2, 0x02, 0x00])]),
    ];
    for (const bytes of garbage) {
      const client = await signedOn();
      client.write(bytes);
      await waitUntil(() => client.closed, 'the connection to close');
    }
    const heartbeat = await signedOn();
    heartbeat.write(Buffer.from([0, 0]));
    assert.equal(codeOf(await heartbeat.sendAndWait(till.sale(1000))), '00');
    assert.equal(codeOf(await steady.sendAndWait(till.sale(1000))), '00');
    assertTotals(till.totals(), { captured: 2077 });
  });

  it('puts partial frames together', async () => {
    const till = ownTill();
    const client = await signedOn();
    const stream = Buffer.concat(
      [1000, 2000, 3000].map((amount) => encodeMessageFrame(till.sale(amount))),
    );
    for (let at = 0; at < stream.length; at += 7) {
      client.write(stream.subarray(at, at + 7));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await waitUntil(() => client.answers.length === 4, 'three answers');
    assertTotals(till.totals(), { captured: 6000, approvals: 3 });
  });

  it('serves many connections at once, and records before it answers', async () => {
    const tills = Array.from({ length: 8 }, (_, index) => ownTill(`LANE000${index}`));
    await Promise.all(
      tills.map(async (till) => {
        const client = await signedOn();
        const sales = Array.from({ length: 100 }, () => till.sale(100));
        for (const sale of sales) client.send(sale);
        await waitUntil(() => client.answers.length === 101, 'a hundred answers');
        const traceNumbers = sales.map((sale) => sale.fields[11]);
        const answered = client.answers.slice(1).map((answer) => answer.fields[11]);
        assert.deepEqual(answered, traceNumbers);
        const written = readLedger(ledgerDir).totals;
        const row = written.find(({ merchant }) => merchant === till.merchant);
        assert.equal(row?.captured, 10_000);
      }),
    );
  });
});
