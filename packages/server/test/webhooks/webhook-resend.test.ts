// Resends during a running attempt, and a process whose clock is ahead.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, test } from 'node:test';
import { systemClock } from '../../src/platform/index.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { startTestWebhooks, type TestWebhooks } from './test-webhooks.ts';
import { type Receiver, receiver } from './webhook-receiver.ts';

describe('a resend during a running delivery attempt', () => {
  let opened: (Receiver | TestWebhooks)[] = [];
  afterEach(async () => {
    for (const each of opened.toReversed()) await each.stop();
    opened = [];
  });

  /** A delivery whose first attempt hangs, and that was resent in the meantime. */
  async function resent(retryDelaysMs: number[]) {
    const replies: ServerResponse[] = [];
    const to = await receiver((_received, reply) => void replies.push(reply));
    opened.push(to);
    const webhooks = await startTestWebhooks({ times: { timeoutMs: 60_000, retryDelaysMs } });
    opened.push(webhooks);
    webhooks.start();
    const { endpointId } = await webhooks.endpoint(to.url);
    await webhooks.happen(1);
    const arrived = (count: number) =>
      eventually(`try ${count} arrives`, () => replies.length === count);
    await arrived(1);
    const [delivery] = (await webhooks.deliveries.list(webhooks, { endpointId }, { limit: 10 }))
      .items;
    assert.ok(delivery);
    await webhooks.deliveries.resend(webhooks, delivery.deliveryId);
    const get = () => webhooks.deliveries.get(webhooks, delivery.deliveryId);
    return {
      arrived,
      get,
      answer: (n: number, status: number) => replies[n]?.writeHead(status).end(),
    };
  }

  const isDelivered = (get: () => Promise<{ status: string }>) =>
    eventually('it is delivered', async () => (await get()).status === 'Delivered');

  test('is sent at once after that attempt fails, regardless of the schedule', async () => {
    for (const delays of [[3_600_000], []]) {
      const { arrived, get, answer } = await resent(delays);
      answer(0, 500);
      await arrived(2);
      assert.equal((await get()).status, 'Pending');
      answer(1, 204);
      await isDelivered(get);
      const { attempts, log } = await get();
      assert.deepEqual([attempts, log.map(({ status }) => status)], [1, [500, 204]]);
    }
  });

  test('needs no other try where that one arrives', async () => {
    const { get, answer } = await resent([3_600_000]);
    answer(0, 204);
    await isDelivered(get);
    assert.equal((await get()).log.length, 1);
  });

  test('is not made by a process whose clock is ahead, which has the same to do', async () => {
    const replies: ServerResponse[] = [];
    const to = await receiver((_received, reply) => void replies.push(reply));
    opened.push(to);
    const leaseMs = 15_000;
    const times = { timeoutMs: 60_000, leaseMs };
    const webhooks = await startTestWebhooks({ times });
    opened.push(webhooks);
    webhooks.start();
    await webhooks.endpoint(to.url);
    await webhooks.happen(1);
    await eventually('the try is under way', () => replies.length === 1);
    let searches = 0;
    const ahead = await startTestWebhooks({
      times,
      databaseUrl: webhooks.url,
      clock: { now: () => systemClock.now() + 2 * leaseMs },
      onDueSearch: () => {
        searches += 1;
      },
    });
    opened.push(ahead);
    ahead.start();
    await eventually('the other process has looked', () => searches >= 3);
    replies[0]?.writeHead(204).end();
    await eventually('it is delivered', async () => {
      const { items } = await webhooks.deliveries.list(webhooks, {}, { limit: 10 });
      return items[0]?.status === 'Delivered';
    });
    assert.equal(replies.length, 1);
  });
});
