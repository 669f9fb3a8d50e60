// The event queue: order, pauses, restarts, and every kind of answer from the platform.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { ProviderEvent } from '@switchyard/contract';
import { createEventQueue, type EventDeliveryOutcome } from './event-queue.ts';
import { fileEventStore, memoryEventStore } from './event-stores.ts';
import { createEventsClient, type SendResult } from './events-client.ts';
import type { PlatformRequest } from './http-transport.ts';

const minuteMs = 60_000;
const eventsUrl = 'https://pay.example/qrcode-payment/v1/transactions/1/events';
const acknowledged: SendResult = { outcome: 'Acknowledged', isDuplicate: false };
const unreachable: SendResult = { outcome: 'Unsent', fault: 'unreachable' };

function event(sequence: number): ProviderEvent {
  return {
    eventId: randomUUID(),
    sequence,
    type: 'payment.completed',
    occurredAt: '2026-03-01T12:30:00.000Z',
    status: 'Completed',
    providerTransactionId: 'P-1',
  };
}

/** Runs all promises that are ready to continue. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

function platform(t: TestContext, answer: (url: string, one: ProviderEvent) => SendResult) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_767_225_600_000 });
  const tries: { sequence: number; at: number }[] = [];
  const begun = Date.now();
  const client = {
    async send(url: string, one: ProviderEvent) {
      tries.push({ sequence: one.sequence, at: Date.now() - begun });
      return answer(url, one);
    },
  };
  const clock = { now: () => Date.now() };
  return { client, clock, tries };
}

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'event-store-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

describe('the queue of events', () => {
  // Spec: QRPROV-8
  it('retries an event after 1, 2, 5, 10 and 30 minutes, and stops after a day', async (t) => {
    const { client, clock, tries } = platform(t, () => unreachable);
    const ends: EventDeliveryOutcome[] = [];
    const queue = createEventQueue({
      client,
      clock,
      store: memoryEventStore(),
      onFinished: (_event, end) => ends.push(end),
    });
    await queue.start();
    await queue.add(eventsUrl, event(1));
    for (let minute = 0; minute < 25 * 60; minute += 1) {
      await settled();
      t.mock.timers.tick(minuteMs);
    }
    const minutes = tries.map(({ at }) => at / minuteMs);
    assert.deepEqual(minutes.slice(0, 8), [0, 1, 3, 8, 18, 48, 78, 108]);
    assert.ok((minutes.at(-1) ?? 0) > 23 * 60 && (minutes.at(-1) ?? 0) <= 24 * 60);
    assert.deepEqual(ends, [{ outcome: 'GivenUp', fault: 'unreachable' }]);
    assert.equal(queue.size, 0);
    await queue.stop();
  });

  it('waits for Retry-After, and at least for its own delay', async (t) => {
    const waits = [90 * minuteMs, 1000];
    const { client, clock, tries } = platform(t, () => {
      const retryAfterMs = waits.shift();
      return retryAfterMs === undefined
        ? acknowledged
        : { outcome: 'Unsent', fault: 'status 429', retryAfterMs };
    });
    const queue = createEventQueue({ client, clock, store: memoryEventStore() });
    await queue.start();
    await queue.add(eventsUrl, event(1));
    for (let minute = 0; minute < 100; minute += 1) {
      await settled();
      t.mock.timers.tick(minuteMs);
    }
    assert.deepEqual(
      tries.map(({ at }) => at / minuteMs),
      [0, 90, 92],
    );
    await queue.stop();
  });

  it('sends the events of one payment in sequence, and the events of several payments in parallel', async (t) => {
    const order: string[] = [];
    const open: (() => void)[] = [];
    const client = {
      send: (url: string, { sequence }: ProviderEvent) => {
        order.push(`${url.at(-8)}${sequence}`);
        return new Promise<SendResult>((resolve) => open.push(() => resolve(acknowledged)));
      },
    };
    t.after(() => {
      for (const finish of open) finish();
    });
    const queue = createEventQueue({ client, store: memoryEventStore(), concurrency: 3 });
    await queue.start();
    const other = eventsUrl.replace('/1/', '/2/');
    await Promise.all([1, 2, 3].map((sequence) => queue.add(eventsUrl, event(sequence))));
    await queue.add(other, event(1));
    await settled();
    assert.deepEqual(order, ['11', '21']);
    while (open.length > 0) {
      open.shift()?.();
      await settled();
    }
    assert.deepEqual(order, ['11', '21', '12', '13']);
    assert.equal(queue.size, 0);
    await queue.stop();
  });

  it('sends a new event at once while an earlier event waits for its retry', async (t) => {
    let isAway = true;
    const { client, clock, tries } = platform(t, () => (isAway ? unreachable : acknowledged));
    const queue = createEventQueue({ client, clock, store: memoryEventStore() });
    await queue.start();
    await queue.add(eventsUrl, event(1));
    await settled();
    isAway = false;
    await queue.add(eventsUrl, event(2));
    await settled();
    assert.deepEqual(
      tries.map(({ sequence }) => sequence),
      [1, 2],
    );
    t.mock.timers.tick(minuteMs);
    await settled();
    assert.deepEqual(
      tries.map(({ sequence }) => sequence),
      [1, 2, 1],
    );
    assert.equal(queue.size, 0);
    await queue.stop();
  });

  it('continues after a restart with the events and attempt counts from its file', async (t) => {
    const path = join(folder(t), 'own', 'events.jsonl');
    const results = event(1);
    const stored = event(2);
    const { client, clock, tries } = platform(t, (_url, { sequence }) =>
      sequence === 1 ? acknowledged : unreachable,
    );
    const first = fileEventStore(path);
    const queue = createEventQueue({ client, clock, store: first });
    await queue.start();
    await queue.add(eventsUrl, results);
    await queue.add(eventsUrl, stored);
    await queue.add(eventsUrl, stored);
    await settled();
    await queue.stop();
    first.close();
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(
      tries.map(({ sequence }) => sequence),
      [1, 2],
    );
    // A killed process can leave an incomplete line.
    appendFileSync(path, '{"put":{"eventsUrl":"ht');
    const second = fileEventStore(path);
    t.after(() => second.close());
    assert.deepEqual(second.load(), [
      {
        eventsUrl,
        event: stored,
        attempts: 1,
        firstAt: clock.now(),
        dueAt: clock.now() + minuteMs,
      },
    ]);
    const again = createEventQueue({ client, clock, store: second });
    await again.start();
    await settled();
    assert.equal(tries.length, 2, 'not before its time');
    t.mock.timers.tick(minuteMs);
    await settled();
    assert.equal(tries.length, 3);
    await again.stop();
    assert.equal(readFileSync(path, 'utf8').split('\n').length, 3);
  });

  it('rejects an event that its store rejects, and reports a later failure of the store', async (t) => {
    const faults: unknown[] = [];
    const { client, clock } = platform(t, () => acknowledged);
    let fails = true;
    const store = {
      ...memoryEventStore(),
      save() {
        if (fails) throw new Error('the disk is full');
      },
      remove() {
        throw new Error('the disk is gone');
      },
    };
    const queue = createEventQueue({
      client,
      clock,
      store,
      onError: (error) => faults.push(error),
    });
    await queue.start();
    await assert.rejects(queue.add(eventsUrl, event(1)), /disk is full/);
    assert.equal(queue.size, 0);
    fails = false;
    await queue.add(eventsUrl, event(1));
    await settled();
    assert.match(String(faults), /disk is gone/);
    await queue.stop();
  });
});

describe('the client of events', () => {
  const options = {
    baseUrl: 'https://pay.example',
    tokenUrl: 'https://pay.example/oauth2/v1/acme/token',
    clientId: 'acme-provider',
    clientSecret: 'kept to itself',
  };
  const token = (value: string, expires_in = 3600) => ({
    status: 200,
    body: JSON.stringify({ access_token: value, expires_in }),
  });

  function results(answers: ((request: PlatformRequest) => { status: number; body?: string })[]) {
    const asked: PlatformRequest[] = [];
    let tokens = 0;
    const clock = { at: 0, now: () => clock.at };
    const client = createEventsClient({
      ...options,
      clock,
      async transport(request) {
        asked.push(request);
        if (request.url === options.tokenUrl) {
          tokens += 1;
          return token(`token-${tokens}`);
        }
        const answer = answers.shift()?.(request) ?? { status: 202 };
        return { body: '', ...answer };
      },
    });
    return { client, asked, clock };
  }

  it('requests one token for several events, and a new token before the old one expires', async () => {
    const { client, asked: requests, clock } = results([]);
    assert.deepEqual(await client.send(eventsUrl, event(1)), acknowledged);
    await Promise.all([client.send(eventsUrl, event(2)), client.send(eventsUrl, event(3))]);
    clock.at = 3_580_000;
    await client.send(eventsUrl, event(4));
    const tokens = requests.filter(({ url }) => url === options.tokenUrl);
    assert.equal(tokens.length, 2);
    assert.match(tokens[0]?.body ?? '', /grant_type=client_credentials&client_id=acme-provider/);
    assert.deepEqual(
      requests
        .filter(({ url }) => url === eventsUrl)
        .map(({ headers }) => headers['authorization']),
      ['Bearer token-1', 'Bearer token-1', 'Bearer token-1', 'Bearer token-2'],
    );
  });

  it('takes another token where one is refused, once', async () => {
    const { client, asked: requests } = results([() => ({ status: 401 }), () => ({ status: 202 })]);
    assert.deepEqual(await client.send(eventsUrl, event(1)), acknowledged);
    assert.equal(requests.length, 4);
    const refused = results([() => ({ status: 401 }), () => ({ status: 401 })]);
    assert.deepEqual(await refused.client.send(eventsUrl, event(1)), {
      outcome: 'Unsent',
      fault: 'status 401',
    });
    assert.equal(refused.asked.length, 4);
  });

  // Spec: NEXO-65
  it('separates finished events from repeated ones', async () => {
    const code = '{"code":"transaction_not_found"}';
    const refusal = { code: 'permission_denied', detail: 'Needs spi.events.' };
    const fault = 'status 403 permission_denied: Needs spi.events.';
    const cases: [number, string, SendResult][] = [
      [202, '', acknowledged],
      [202, '{"result":"UnderReview"}', { ...acknowledged, result: 'UnderReview' }],
      [202, '{"result":"Ignored"}', { ...acknowledged, result: 'Ignored' }],
      [202, '{"result":"of a later version"}', acknowledged],
      [202, 'null', acknowledged],
      [422, JSON.stringify(refusal), { outcome: 'Refused', status: 422, ...refusal }],
      [403, JSON.stringify(refusal), { outcome: 'Unsent', fault }],
      [200, '', { outcome: 'Acknowledged', isDuplicate: true }],
      [404, code, { outcome: 'Refused', status: 404, code: 'transaction_not_found' }],
      [422, '<html>', { outcome: 'Refused', status: 422 }],
      [403, '', { outcome: 'Unsent', fault: 'status 403' }],
      [429, '', { outcome: 'Unsent', fault: 'status 429' }],
      [503, '', { outcome: 'Unsent', fault: 'status 503' }],
      [302, '', { outcome: 'Unsent', fault: 'status 302' }],
    ];
    for (const [status, body, wanted] of cases) {
      const { client } = results([() => ({ status, body })]);
      assert.deepEqual(await client.send(eventsUrl, event(1)), wanted, String(status));
    }
  });

  it('brings its token to the platform alone, and never without TLS', async () => {
    const { client, asked: requests } = results([]);
    for (const url of ['https://evil.example/events', 'http://pay.example/events', 'none']) {
      const result = await client.send(url, event(1));
      assert.deepEqual(result, { outcome: 'Refused', status: 0, code: 'origin_unknown' });
    }
    assert.equal(requests.length, 0);
    for (const wrong of [{ baseUrl: 'http://pay.example' }, { tokenUrl: 'ftp://pay.example' }]) {
      assert.throws(() => createEventsClient({ ...options, ...wrong }), TypeError);
    }
  });

  it('sends to any origin with its own token if the options allow it', async () => {
    const requests: PlatformRequest[] = [];
    const client = createEventsClient({
      anyOrigin: true,
      token: 'check',
      async transport(request) {
        requests.push(request);
        return { status: 202, body: '' };
      },
    });
    assert.deepEqual(await client.send('http://127.0.0.1:9/events', event(1)), acknowledged);
    assert.equal(requests[0]?.headers['authorization'], 'Bearer check');
    assert.equal((await client.send('none', event(2))).outcome, 'Refused');
  });

  it('waits for an unreachable platform, and errors contain no secret', async () => {
    const client = createEventsClient({
      ...options,
      baseUrl: 'http://127.0.0.1:1',
      tokenUrl: 'http://127.0.0.1:1/token',
    });
    const result = await client.send('http://127.0.0.1:1/events', event(1));
    assert.equal(result.outcome, 'Unsent');
    assert.ok(!JSON.stringify(result).includes(options.clientSecret));
    client.close();
    const refusing = createEventsClient({
      ...options,
      transport: async () => ({ status: 401, body: '{"error":"invalid_client"}' }),
    });
    assert.deepEqual(await refusing.send(eventsUrl, event(1)), {
      outcome: 'Unsent',
      fault: 'the token request failed: status 401 invalid_client',
    });
  });
});
