// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// Fault 10, and unconfirmed sales, under kill -9: each offline sale is stored once, each gap is
// reported, no unconfirmed sale is kept.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { testDatabaseCopyUrl } from '../support/database/test-database.ts';
import type { Client, HttpResponse } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { until } from '../support/wait-for-result.ts';
import { type FaultPlatform, startFaultPlatform } from './fault-platform.ts';
import { printResult, seed, sizeOfRun } from './fault-size.ts';
import { createRandom, transactionsPath } from './load-during-faults.ts';

const kills = sizeOfRun({ small: 2, full: 30 });
const perRound = sizeOfRun({ small: 12, full: 40 });
/** The process dies after it stored the intent, or after it sent the message. */
const failPoints = sizeOfRun({
  small: ['after-send'],
  full: ['after-intent', 'after-send'],
});
const limitMs = sizeOfRun({ small: 240_000, full: 2_400_000 });
/** A link sends in order and waits for each missing response, so many kills cause a long queue. */
const endLimitMs = sizeOfRun({ small: 60_000, full: 900_000 });
const confirmWithinSeconds = 5;
/** Duplicate, late and missing responses, a closed connection, a decline, and normal amounts. */
const amounts = [2222, 3333, 4444, 9091, 9093, 9094, 9051] as const;

type Body = Record<string, unknown>;
type OfflineSale = { terminal: number; sequence: number; body: Body };
type Awaited = { body: Body; answered?: HttpResponse; confirmed?: HttpResponse; asked: boolean };
type OpenClient = { client: Client; token: string };

// Spec: CARD-58
describe('kills of the server during offline uploads', { concurrency: false }, () => {
  const next = createRandom(seed);
  const below = (limit: number) => Math.floor(next() * limit);
  let platform: FaultPlatform;

  before(async () => {
    platform = await startFaultPlatform({ databaseUrl: await testDatabaseCopyUrl() });
    await platform.server.start();
  });

  after(() => platform.stop());

  /** Repeats the request while the server is overloaded, as a terminal does. */
  const sell = ({ client, token }: OpenClient, body: Body) =>
    until(async () => {
      const answer = await client.call('POST', `${transactionsPath}/process`, { token, body });
      return answer.status === 503 ? undefined : answer;
    }, 'the server to take it');

  async function deviceOf(terminal: number): Promise<string> {
    const device = (await platform.server.demoFacts()).devices[terminal];
    assert.ok(device);
    return device.logicalDeviceId;
  }

  async function offlineSale(terminal: number, sequence: number, amount: number): Promise<Body> {
    return keyedSale({
      amount,
      deviceId: await deviceOf(terminal),
      offlineTransaction: true,
      offlineData: {
        authorizedAt: new Date(Date.now() - 60_000 - sequence * 1000).toISOString(),
        // The code includes the terminal: the server treats sales with all equal data as one sale,
        // from any device.
        authorizationCode: `${terminal}${String(sequence).padStart(5, '0')}`,
        terminalSequence: sequence,
        reason: 'ServerUnavailable',
      },
    });
  }

  /**
   * The sale keeps the identifier of its first upload; an upload with another identifier gets 409.
   */
  function assertUploaded({ status, body, text }: HttpResponse): void {
    if (status === 409) assert.equal(body.code, 'offline_sale_already_uploaded', text);
    else assert.equal(status, 200, text);
  }

  /** Sometimes uploads with another identifier, a truncated body, or two requests at once. */
  async function upload(entrance: OpenClient, { body }: OfflineSale): Promise<void> {
    const renamed = { ...body, clientTransactionId: randomUUID() };
    const sent = next() < 0.3 ? renamed : body;
    if (next() < 0.2) {
      const text = JSON.stringify(sent);
      const raw = text.slice(0, below(text.length));
      const half = await entrance.client.call('POST', `${transactionsPath}/process`, {
        token: entrance.token,
        raw,
      });
      assert.ok(half.status === 400 || half.status === 503, half.text);
    }
    const twice = next() < 0.2 ? [sent, renamed] : [sent];
    for (const answer of await Promise.all(twice.map((each) => sell(entrance, each)))) {
      assertUploaded(answer);
    }
  }

  async function sellAndConfirm(entrance: OpenClient, sale: Awaited): Promise<void> {
    sale.answered = await sell(entrance, sale.body);
    if (next() < 0.5) return;
    sale.asked = true;
    const path = `${transactionsPath}/${String(sale.body['clientTransactionId'])}/confirm`;
    sale.confirmed = await entrance.client.call('POST', path, { token: entrance.token });
  }

  /** Ignores the connection loss by the kill; the next round repeats the work. */
  const untilKilled = (work: Promise<void>) =>
    work.catch((error: unknown) => {
      if (error instanceof assert.AssertionError) throw error;
    });

  const ended = (entrance: OpenClient, id: string) =>
    until(
      async () => {
        const { status, body } = await entrance.client.call('GET', `${transactionsPath}/${id}`, {
          token: entrance.token,
        });
        if (status === 404) return { state: 'Unknown' } as Body;
        const waits = ['Received', 'Stored', 'Reversing'].includes(body.state) || body.confirmBy;
        return waits ? undefined : (body as Body);
      },
      `the end of ${id}`,
      endLimitMs,
    );

  async function assertOnce(entrance: OpenClient, stored: readonly OfflineSale[]): Promise<number> {
    let captured = 0;
    const ids = new Set<string>();
    for (const { body } of stored) {
      const again = await sell(entrance, { ...body, clientTransactionId: randomUUID() });
      assert.equal(again.body.code, 'offline_sale_already_uploaded', again.text);
      const { transactionId } = again.body.transaction;
      const now = await ended(entrance, transactionId);
      ids.add(transactionId);
      const declined = body['amount'] === 9051;
      assert.equal(now['state'], declined ? 'Declined' : 'Captured');
      assert.equal(now['capturedAmount'], declined ? 0 : body['amount']);
      captured += Number(now['capturedAmount']);
    }
    assert.equal(ids.size, stored.length);
    return captured;
  }

  async function assertGaps(entrance: OpenClient, stored: readonly OfflineSale[]): Promise<void> {
    for (const terminal of [0, 1]) {
      const numbers = stored.filter((each) => each.terminal === terminal).map((e) => e.sequence);
      const last = Math.max(...numbers);
      const expected: number[] = [];
      for (let number = Math.min(...numbers); number <= last; number += 1) {
        if (!numbers.includes(number)) expected.push(number);
      }
      const path = `/payment/v1/offline-gaps?limit=200&deviceId=${await deviceOf(terminal)}`;
      const { body } = await entrance.client.call('GET', path, { token: entrance.token });
      const missingNumbers = body.items.flatMap((gap: { firstMissing: number; missing: number }) =>
        Array.from({ length: gap.missing }, (_, index) => gap.firstMissing + index),
      );
      assert.deepEqual(
        missingNumbers.sort((a: number, b: number) => a - b),
        expected,
      );
    }
  }

  /**
   * Asserts that confirmed sales are captured, unconfirmed sales are reversed, and sales with a
   * lost confirmation are either.
   */
  async function assertEvents(entrance: OpenClient, sales: readonly Awaited[]): Promise<number> {
    let captured = 0;
    for (const { body, answered, confirmed, asked: wasAsked } of sales) {
      const now = await ended(entrance, String(body['clientTransactionId']));
      const message = `${now['state']} of ${answered?.status} ${confirmed?.status} ${wasAsked}`;
      if (confirmed?.status === 200) assert.equal(now['state'], 'Captured', message);
      else if (!wasAsked)
        assert.match(String(now['state']), /^(?:Reversed|Unknown|Failed)$/, message);
      else assert.match(String(now['state']), /^(?:Captured|Reversed|Unknown|Failed)$/, message);
      captured += Number(now['capturedAmount'] ?? 0);
    }
    return captured;
  }

  const atHost = () => platform.host.ledger().totals.reduce((all, each) => all + each.captured, 0);

  // Spec: INV-15
  test(`${kills} kills while they upload and confirm (seed ${seed})`, {
    timeout: limitMs,
  }, async () => {
    const memory: OfflineSale[] = [];
    const awaited: Awaited[] = [];
    const numbers = [1, 1];
    for (let round = 0; round < kills; round += 1) {
      const entrance = await platform.openClient();
      for (let count = 0; count < perRound; count += 1) {
        const terminal = below(2);
        const sequence = numbers[terminal] ?? 1;
        numbers[terminal] = sequence + (next() < 0.1 ? 2 + below(3) : 1);
        const amount = amounts[below(amounts.length)] ?? 2222;
        const body = await offlineSale(terminal, sequence, amount);
        memory.push({ terminal, sequence, body });
      }
      const sales = Array.from({ length: perRound }, (): Awaited => {
        const body = keyedSale({ amount: 1111, confirmWithinSeconds });
        return { body, asked: false };
      });
      awaited.push(...sales);
      const mixed = memory.toSorted(() => next() - 0.5).slice(0, perRound * 2);
      const work = [
        ...mixed.map((each) => untilKilled(upload(entrance, each))),
        ...sales.map((each) => untilKilled(sellAndConfirm(entrance, each))),
      ];
      await new Promise((resolve) => setTimeout(resolve, next() * 400));
      await platform.server.kill();
      await Promise.all(work);
      await platform.server.start();
    }
    const entrance = await platform.openClient();
    for (const { body } of memory) assertUploaded(await sell(entrance, body));
    const offline = await assertOnce(entrance, memory);
    await assertGaps(entrance, memory);
    const confirmed = await assertEvents(entrance, awaited);
    assert.equal(atHost(), offline + confirmed);
    await platform.assertLedgersAgree();
    printResult(`${memory.length} offline sales, ${awaited.length} to confirm, ${kills} kills`);
  });

  for (const [round, failPoint] of failPoints.entries()) {
    test(`a kill at the fail point ${failPoint}: the message is sent again and counts once`, {
      timeout: limitMs,
    }, async () => {
      const { server } = platform;
      const before = atHost();
      const body = await offlineSale(1, 900 + round, 5555);
      await server.stop();
      await server.start({ SWITCHYARD_FAIL_POINT: failPoint });
      const answer = await sell(await platform.openClient(), body);
      assert.equal(answer.body.state, 'Stored', answer.text);
      await server.waitForEnd();
      if (failPoint === 'after-intent') assert.equal(atHost(), before, 'nothing has left');
      await server.start();
      const now = await ended(await platform.openClient(), answer.body.transactionId);
      assert.deepEqual([now['state'], atHost() - before], ['Captured', 5555]);
      const types = (now['events'] as { type: string }[]).map(({ type }) => type.split('.')[1]);
      assert.deepEqual(types, ['stored', 'sent', 'captured']);
      await platform.assertLedgersAgree();
    });
  }
});
