// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// A server that is killed after it sent an event and before it stored the result: it sends the same
// bytes again and loses no event.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { FeedItem } from '@switchyard/contract';
import { testDatabaseCopyUrl } from '../support/database/test-database.ts';
import type { Client } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { accept, assertGenuine, type Receiver, receiver } from '../webhooks/webhook-receiver.ts';
import { type FaultPlatform, startFaultPlatform } from './fault-platform.ts';
import { printResult, seed, sizeOfRun } from './fault-size.ts';
import { createRandom, transactionsPath } from './load-during-faults.ts';

const size = sizeOfRun({ small: { points: 2, kills: 2 }, full: { points: 8, kills: 25 } });
const limitMs = sizeOfRun({ small: 240_000, full: 1_200_000 });
/** The lease of the killed process must end before another process sends. */
const leaseMs = 40_000;

describe('kills of the webhook dispatcher', { concurrency: false }, () => {
  const next = createRandom(seed);
  let platform: FaultPlatform;
  let first: Receiver;
  let second: Receiver;
  const secrets = new Map<Receiver, string>();

  before(async () => {
    [first, second] = [await receiver(), await receiver()];
    platform = await startFaultPlatform({ databaseUrl: await testDatabaseCopyUrl() });
    await platform.server.start();
    const client = await platform.server.client();
    const token = await organizationToken(client);
    for (const to of [first, second]) {
      const body = { url: to.url, eventTypes: ['transaction.*'] };
      const made = await client.call('POST', '/webhooks/v1/endpoints', { token, body });
      assert.equal(made.status, 201, made.text);
      secrets.set(to, made.body.secret);
    }
  });

  after(async () => {
    await platform.stop();
    await first.stop();
    await second.stop();
  });

  /** A token of the organisation, which reads the feed and owns the endpoints. */
  async function organizationToken(client: Client): Promise<string> {
    const { userDomainId, applications } = await platform.server.demoFacts();
    const { clientId = '', clientSecret = '' } = applications['acquirer'] ?? {};
    return client.token(userDomainId, clientId, clientSecret);
  }

  async function feed(client: Client, token: string): Promise<FeedItem[]> {
    const items: FeedItem[] = [];
    for (let after = 0; ; ) {
      const path = `/events/v1?limit=200&types=transaction.*&after=${after}`;
      const { status, body, text } = await client.call('GET', path, { token });
      assert.equal(status, 200, text);
      items.push(...body.items);
      if (!body.hasMore) return items;
      after = body.nextAfter;
    }
  }

  const checked = new Map<Receiver, number>();
  /** A signature is valid for five minutes, so the test checks new deliveries as it runs. */
  function assertSigned(): void {
    for (const to of [first, second]) {
      const { length } = to.received;
      const news = to.received.slice(checked.get(to) ?? 0, length);
      for (const one of news) assertGenuine(one, secrets.get(to) ?? '');
      checked.set(to, length);
    }
  }

  /**
   * Asserts that each receiver got every event of the feed, signed and with the same bytes for each
   * id.
   */
  async function assertAllCame(sales: ReadonlySet<string>): Promise<number> {
    const { client } = await platform.openClient();
    const token = await organizationToken(client);
    let items: FeedItem[] = [];
    await eventually(
      'every sale is published',
      async () => {
        items = await feed(client, token);
        const receivedIds = new Set(items.map(({ data }) => data['transactionId']));
        return [...sales].every((id) => receivedIds.has(id));
      },
      leaseMs,
    );
    let again = 0;
    assertSigned();
    for (const to of [first, second]) {
      const came = () => new Set(to.received.map(({ id }) => id));
      await eventually(
        'everything came',
        () => items.every(({ eventId }) => came().has(eventId)),
        leaseMs,
      );
      const bodies = new Map(
        items.map(({ eventId, type, timestamp, data }) => [
          eventId,
          JSON.stringify({ type, timestamp, data }),
        ]),
      );
      for (const one of to.received) {
        if (bodies.has(one.id)) assert.equal(one.body, bodies.get(one.id));
      }
      again += to.received.length - came().size;
    }
    assertSigned();
    return again;
  }

  async function sell(client: Client, token: string, sales: Set<string>): Promise<void> {
    const answer = await client
      .call('POST', `${transactionsPath}/process`, { token, body: keyedSale() })
      .catch(() => undefined);
    if (answer?.status === 200) sales.add(answer.body.transactionId);
  }

  // Spec: QRPROV-39
  test('a kill after the response sends the event again, with the same identifier and bytes', {
    timeout: limitMs,
  }, async () => {
    const { server } = platform;
    for (let round = 0; round < size.points; round += 1) {
      await server.stop();
      const before = [first, second].map(({ received }) => received.length);
      await server.start({ SWITCHYARD_FAIL_POINT: 'after-webhook' });
      const { client, token } = await platform.openClient();
      const sales = new Set<string>();
      await sell(client, token, sales);
      await server.waitForEnd();
      const sent = [first, second].flatMap((to, index) =>
        to.received.slice(before[index]).map(({ id, body }) => ({ to, id, body })),
      );
      assert.ok(sent.length > 0, 'something was sent before the end');
      await server.start();
      await assertAllCame(sales);
      const copies = ({ to, id }: (typeof sent)[number]) =>
        to.received.filter((one) => one.id === id);
      // Each receiver gets the event again after the lease of the killed process has ended, before
      // the next round starts.
      await eventually(
        'what was not written down came again',
        () => sent.every((one) => copies(one).length > 1),
        leaseMs,
      );
      for (const one of sent) {
        for (const copy of copies(one)) assert.equal(copy.body, one.body);
      }
    }
  });

  // Spec: QRPROV-39
  test(`${size.kills} kills at random instants lose no event (seed ${seed})`, {
    timeout: limitMs,
  }, async () => {
    const { server } = platform;
    const sales = new Set<string>();
    for (let round = 0; round < size.kills; round += 1) {
      // The second receiver hangs sometimes; it delays neither the first receiver nor later events.
      second.answer((received, reply, request) => {
        if (next() < 0.7) accept(received, reply, request);
      });
      const { client, token } = await platform.openClient();
      const selling = Array.from({ length: 6 }, async () => {
        for (let sale = 0; sale < 8; sale += 1) await sell(client, token, sales);
      });
      const enough = first.received.length + 5;
      await eventually('events are under way', () => first.received.length >= enough, leaseMs);
      await new Promise((resolve) => setTimeout(resolve, next() * 150));
      await server.kill();
      await Promise.all(selling);
      second.answer(accept);
      await server.start();
      assertSigned();
    }
    const again = await assertAllCame(sales);
    assert.ok(sales.size > 0);
    printResult(`${size.kills} kills, ${sales.size} sales, ${again} events came more than once`);
  });
});
