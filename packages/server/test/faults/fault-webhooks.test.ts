// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// Receivers with every kind of fault: each event arrives in the end with one identifier and the
// same bytes, and other receivers do not wait.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import type { WebhookReplay } from '@switchyard/contract';
import { makeCertificate } from '../../src/http/authentication/certificate.fixture.ts';
import { freePorts } from '../support/free-ports.ts';
import { createSeededRandom } from '../support/seeded-random.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { quickTimes, startTestWebhooks, type TestWebhooks } from '../webhooks/test-webhooks.ts';
import {
  type Answering,
  accept,
  answerWith,
  assertGenuine,
  type Receiver,
  receiver,
} from '../webhooks/webhook-receiver.ts';
import { printResult, seed, sizeOfRun } from './fault-size.ts';

let opened: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  const all = opened.toReversed();
  opened = [];
  for (const each of all) await each.stop();
});

function closeAfterTest<Of extends { stop(): Promise<void> }>(one: Of): Of {
  opened.push(one);
  return one;
}

const open = async (...from: Parameters<typeof receiver>): Promise<Receiver> =>
  closeAfterTest(await receiver(...from));

async function openWebhooks(...from: Parameters<typeof startTestWebhooks>): Promise<TestWebhooks> {
  const made = closeAfterTest(await startTestWebhooks(...from));
  made.start();
  return made;
}

/** A clock that runs as the system clock, and moves forward when the test advances it. */
function leapingClock() {
  let ahead = 0;
  return {
    now: () => Date.now() + ahead,
    advance(ms: number) {
      ahead += ms;
    },
  };
}

/** Asserts that all deliveries with one identifier have the same body. */
function assertSameBytes({ received }: Receiver): Map<string, number> {
  const bodies = new Map<string, string>();
  const times = new Map<string, number>();
  for (const { id, body } of received) {
    assert.equal(bodies.get(id) ?? body, body, `other bytes under ${id}`);
    bodies.set(id, body);
    times.set(id, (times.get(id) ?? 0) + 1);
  }
  return times;
}

/**
 * Asserts that the log contains every attempt; only an attempt that timed out may be missing at the
 * receiver.
 */
async function assertNoMoreThanLogged(
  { database }: TestWebhooks,
  endpointId: string,
  { received }: Receiver,
): Promise<void> {
  const [row] = await database.query<{ tries: number; late: number }>(
    `SELECT count(*)::int AS tries,
       (count(*) FILTER (WHERE each->>'fault' = 'timed_out'))::int AS late
     FROM webhook_deliveries, jsonb_array_elements(log) AS each
     WHERE endpoint_id = $1`,
    [endpointId],
  );
  const { tries, late } = row ?? { tries: 0, late: 0 };
  const deliveredTypes = `${received.length} came, ${tries} are logged, ${late} of them out of time`;
  // Only an attempt that timed out may not have arrived.
  assert.ok(received.length <= tries && received.length >= tries - late, deliveredTypes);
}

const hang: Answering = () => {};
const cut: Answering = (_received, _reply, request) => void request.socket.destroy();
const drip: Answering = (_received, reply) => {
  reply.writeHead(500);
  const timer = setInterval(() => reply.write('.'), 20);
  reply.on('close', () => clearInterval(timer));
};
/** The response status never completes. */
const headerDrip: Answering = (_received, reply, request) => {
  const text = 'HTTP/1.1 200 OK\r\nx-slow: ';
  let at = 0;
  const timer = setInterval(() => {
    request.socket.write(text[at] ?? '.');
    at += 1;
  }, 20);
  request.socket.on('close', () => clearInterval(timer));
  reply.on('error', () => {});
};
const garbage: Answering = (_received, _reply, request) =>
  void request.socket.end('this is no HTTP at all\r\n\r\n');
const floodOfFailure = answerWith(500, {}, 'x'.repeat(300_000));

const faults: Record<string, Answering> = {
  'status 500': answerWith(500, {}, 'broken'),
  'status 400': answerWith(400),
  'a redirect': answerWith(307, { location: 'http://127.0.0.1:9/elsewhere' }),
  'a moved address': answerWith(301, { location: '/elsewhere' }),
  throttling: answerWith(429, { 'retry-after': '0' }),
  'a bad gateway': answerWith(502),
  'a large body': floodOfFailure,
  hanging: hang,
  'a cut connection': cut,
  'a slow drip': drip,
  'a drip of headers': headerDrip,
  garbage,
};

describe('webhook receivers with faults', () => {
  for (const [name, how] of Object.entries(faults)) {
    // Spec: QRPROV-38
    test(`a receiver with ${name} gets all events after its recovery, and no other endpoint waits`, async () => {
      const webhooks = await openWebhooks();
      const [bad, good] = [await open(how), await open()];
      const { endpointId, secret } = await webhooks.endpoint(bad.url);
      const other = await webhooks.endpoint(good.url);
      await webhooks.happen(12);
      await eventually('the good one has all', () => assertSameBytes(good).size === 12);
      await eventually('the bad one was asked', () => bad.received.length > 1, 60_000);
      assert.equal((await webhooks.counts(endpointId))['Delivered'], undefined);
      bad.answer(accept);
      await eventually(
        'the bad one has all',
        async () => (await webhooks.counts(endpointId))['Delivered'] === 12,
        60_000,
      );
      const came = assertSameBytes(bad);
      assert.deepEqual([...came.keys()].toSorted(), [...assertSameBytes(good).keys()].toSorted());
      for (const received of bad.received) assertGenuine(received, secret);
      for (const { path } of bad.received) assert.equal(path, '/hooks');
      await eventually(
        'the good one took all',
        async () => (await webhooks.counts(other.endpointId))['Delivered'] === 12,
      );
      await assertNoMoreThanLogged(webhooks, other.endpointId, good);
    });
  }

  test('a receiver that sends a very long body has accepted the event if its status says so', async () => {
    const webhooks = await openWebhooks();
    const endless: Answering = (_received, reply) => {
      reply.writeHead(200);
      reply.write('x'.repeat(200_000));
    };
    const to = await open(endless);
    const { endpointId } = await webhooks.endpoint(to.url);
    await webhooks.happen(3);
    await eventually(
      'all are taken',
      async () => (await webhooks.counts(endpointId))['Delivered'] === 3,
    );
    assert.equal(assertSameBytes(to).size, 3);
  });

  test('a receiver that was down gets its events when it listens again on the same port', async (t) => {
    const webhooks = await openWebhooks();
    const good = await open();
    const [port = 0] = await freePorts(1);
    const goneReceiver = await receiver(accept, undefined, port);
    t.after(goneReceiver.stop);
    const { url } = goneReceiver;
    const { endpointId } = await webhooks.endpoint(url);
    await webhooks.endpoint(good.url);
    await goneReceiver.stop();
    await webhooks.happen(5);
    await eventually('the good one has all', () => assertSameBytes(good).size === 5);
    await eventually('it was tried', async () => {
      const { items } = await webhooks.deliveries.list(webhooks, { endpointId }, { limit: 10 });
      return items.some(({ lastAttempt }) => lastAttempt?.fault === 'unreachable');
    });
    const receivedLines: string[] = [];
    const restartedReceiver = createServer((socket: Socket) => {
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        const id = /webhook-id: (\S+)/i.exec(chunk.toString())?.[1];
        if (id === undefined) return;
        receivedLines.push(id);
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
    });
    await listening(restartedReceiver, port);
    t.after(() => restartedReceiver.close());
    await eventually(
      'it has all',
      async () => (await webhooks.counts(endpointId))['Delivered'] === 5,
      60_000,
    );
    assert.equal(new Set(receivedLines).size, 5);
    assert.equal((await webhooks.endpoints.get(webhooks, endpointId)).view.status, 'Enabled');
  });
});

async function listening(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  server.unref();
}

describe('endpoints that the platform must not call', () => {
  // Spec: QRPROV-36
  test('an endpoint with a forbidden address, now or after a DNS change, gets no connection', async () => {
    const certificate = await makeCertificate('rebinding');
    const closing: Answering = (_received, reply) =>
      void reply.setHeader('connection', 'close').end();
    const inside = await open(closing, { ...certificate, host: 'localhost' });
    let answer = [{ address: '127.0.0.1', family: 4 }];
    const lookups: string[] = [];
    const webhooks = await openWebhooks({
      authorities: certificate.cert,
      lookup: async (host) => {
        lookups.push(host);
        return answer;
      },
    });
    const { endpointId } = await webhooks.endpoint(inside.url);
    await webhooks.happen(1);
    await eventually('it leads to us at first', () => inside.received.length > 0);
    for (const address of ['10.1.2.3', '169.254.169.254', '::ffff:127.0.0.1', 'fd12::1']) {
      const before = lookups.length;
      answer = [
        { address: '127.0.0.1', family: 4 },
        { address, family: address.includes(':') ? 6 : 4 },
      ];
      await webhooks.happen(1);
      await eventually('its name is asked for again', () => lookups.length > before, 60_000);
    }
    await eventually('the refusal is in the log', async () => {
      const page = await webhooks.deliveries.list(webhooks, { endpointId }, { limit: 20 });
      return page.items.some(({ lastAttempt }) => lastAttempt?.fault === 'address_refused');
    });
    assert.equal(assertSameBytes(inside).size, 1, 'no byte went anywhere');
    answer = [{ address: '127.0.0.1', family: 4 }];
    await eventually(
      'and it gets all once its name is right',
      () => assertSameBytes(inside).size === 5,
    );
  });

  test('an endpoint with an untrusted certificate gets no byte of an event', async () => {
    const [right, wrong] = [await makeCertificate('right'), await makeCertificate('wrong')];
    const webhooks = await openWebhooks({ authorities: right.cert });
    const [trusted, untrusted] = [
      await open(accept, { ...right, host: 'localhost' }),
      await open(accept, { ...wrong, host: 'localhost' }),
    ];
    const good = await webhooks.endpoint(trusted.url);
    const { endpointId } = await webhooks.endpoint(untrusted.url);
    await webhooks.happen(4);
    await eventually('the trusted one has all', () => assertSameBytes(trusted).size === 4);
    await eventually('the other was refused', async () => {
      const { items } = await webhooks.deliveries.list(webhooks, { endpointId }, { limit: 4 });
      return items.some(({ lastAttempt }) => lastAttempt?.fault === 'tls_failed');
    });
    assert.equal(untrusted.received.length, 0);
    await eventually(
      'the trusted one took them',
      async () => (await webhooks.counts(good.endpointId))['Delivered'] === 4,
    );
  });

  // Spec: QRPROV-37
  test('an endpoint that answered 410 is disabled at once, and the other endpoints of the organisation get an event', async () => {
    const webhooks = await openWebhooks();
    const [goneReceiver, good] = [await open(answerWith(410)), await open()];
    const { endpointId } = await webhooks.endpoint(goneReceiver.url, ['transaction.*']);
    await webhooks.endpoint(good.url);
    await webhooks.happen(1);
    const isDisabled = async () =>
      (await webhooks.endpoints.get(webhooks, endpointId)).view.status === 'Disabled';
    await eventually('it is disabled', isDisabled);
    const { view } = await webhooks.endpoints.get(webhooks, endpointId);
    assert.equal(view.disabledReason, 'Gone');
    const deliveredTypes = () =>
      good.received
        .map(({ body }) => JSON.parse(body))
        .find(({ type }) => type === 'endpoint.disabled');
    await eventually('the others are told', () => deliveredTypes() !== undefined);
    assert.equal(deliveredTypes().data.endpointId, endpointId);
    assert.equal(deliveredTypes().data.reason, 'Gone');
    assert.equal(goneReceiver.received.length, 1);
    await webhooks.happen(3);
    await eventually('the others get what follows', () => assertSameBytes(good).size === 5);
    assert.equal(goneReceiver.received.length, 1);
    // After the endpoint is enabled again, scheduled deliveries arrive by themselves and missed
    // ones by a replay.
    goneReceiver.answer(accept);
    await webhooks.endpoints.replace(webhooks.by, endpointId, {
      url: goneReceiver.url,
      eventTypes: ['transaction.*'],
    });
    await eventually('the first one comes again', () => goneReceiver.received.length === 2);
    await webhooks.replays.begin(webhooks, endpointId, {});
    await eventually(
      'what was missed comes',
      async () => (await webhooks.counts(endpointId))['Delivered'] === 4,
    );
    const came = assertSameBytes(goneReceiver);
    assert.equal(came.size, 4);
  });
});

// Spec: QRPROV-18
test('only one replay of an endpoint runs at a time, and a new one can start after its end', async () => {
  // No process runs the replay job yet.
  const webhooks = closeAfterTest(await startTestWebhooks());
  const { endpointId } = await webhooks.endpoint('http://127.0.0.1:9/');
  const begin = (span: WebhookReplay = {}) => webhooks.replays.begin(webhooks, endpointId, span);
  const all = await Promise.allSettled(Array.from({ length: 20 }, () => begin()));
  assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 1);
  await assert.rejects(begin({ from: '2026-01-01T00:00:00Z' }), { code: 'replay_running' });
  const [jobs] = await webhooks.database.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM jobs WHERE kind = 'webhook-replay'`,
  );
  assert.equal(jobs?.n, 1);
  webhooks.start();
  const again = () =>
    begin().then(
      () => true,
      () => false,
    );
  await eventually('the next one may begin', again);
});

type Tried = { attempts: number; status: string; due_at: Date; updated_at: Date };

describe('the retry schedule', () => {
  const minute = 60_000;

  // Spec: QRPROV-37
  test('the platform retries for three days with the published delays, and then marks the delivery as failed', async () => {
    const clock = leapingClock();
    const { retryDelaysMs: _quick, ...times } = quickTimes;
    const webhooks = await openWebhooks({
      clock,
      times: { ...times, retryDelaysMs: undefined as never },
    });
    const bad = await open(answerWith(500));
    const { endpointId } = await webhooks.endpoint(bad.url);
    await webhooks.happen(1);
    const pauses = [5 / 60, 5, 30, 120, 300, 600, 840, 1200, 1440].map((each) => each * minute);
    const attempts = async () => {
      const [row] = await webhooks.database.query<Tried>(
        'SELECT attempts, status, due_at, updated_at FROM webhook_deliveries WHERE endpoint_id = $1',
        [endpointId],
      );
      return row;
    };
    for (const [index, pauseMs] of pauses.entries()) {
      await eventually(`try ${index + 1}`, async () => (await attempts())?.attempts === index + 1);
      const row = await attempts();
      assert.equal(row?.status, 'Pending');
      const waitMs = (row?.due_at.getTime() ?? 0) - (row?.updated_at.getTime() ?? 0);
      assert.ok(waitMs >= pauseMs && waitMs <= pauseMs * 1.2 + 1, `${waitMs} after ${pauseMs}`);
      assert.equal(bad.received.length, index + 1);
      clock.advance(waitMs + 1_000);
    }
    await eventually('it is given up', async () => (await attempts())?.status === 'Failed');
    assert.equal(bad.received.length, 10);
    const [first, ...others] = bad.received;
    for (const other of others) {
      assert.deepEqual([other.id, other.body], [first?.id, first?.body]);
    }
    const stamps = bad.received.map(({ headers }) => Number(headers['webhook-timestamp']));
    assert.deepEqual(
      stamps,
      stamps.toSorted((one, two) => one - two),
    );
    assert.equal(new Set(stamps).size, 10, 'each try has a time of its own');
    // Neither a burst nor ten attempts within five days disable the endpoint.
    assert.equal((await webhooks.endpoints.get(webhooks, endpointId)).view.status, 'Enabled');
    // A replay from the last acknowledged event delivers it again.
    bad.answer(accept);
    await webhooks.replays.begin(webhooks, endpointId, {});
    await eventually('it is delivered', async () => (await attempts())?.status === 'Delivered');
  });

  // Spec: QRPROV-37
  test('Retry-After of the receiver delays the next attempt, and an endpoint that accepts nothing for five days is disabled', async () => {
    const clock = leapingClock();
    const webhooks = await openWebhooks({
      clock,
      times: { retryDelaysMs: Array.from({ length: 99 }, () => minute) },
    });
    const [bad, good] = [await open(answerWith(503, { 'retry-after': '900' })), await open()];
    const { endpointId } = await webhooks.endpoint(bad.url, ['transaction.*']);
    await webhooks.endpoint(good.url, ['endpoint.*']);
    await webhooks.happen(1);
    await eventually('it was tried', () => bad.received.length === 1);
    const health = async () => (await webhooks.endpoints.get(webhooks, endpointId)).view.health;
    await eventually('it rests', async () => (await health())?.restingUntil !== undefined);
    const restMs = Date.parse((await health())?.restingUntil ?? '') - clock.now();
    assert.ok(restMs > 880_000 && restMs <= 900_000, `${restMs}`);
    clock.advance(800_000);
    await webhooks.happen(1);
    bad.answer(answerWith(500));
    clock.advance(100_001 + minute);
    await eventually('it is asked again', () => bad.received.length > 1);
    const day = 24 * 60 * minute;
    for (let half = 0; half < 9; half += 1) {
      const before = bad.received.length;
      clock.advance(day / 2);
      await eventually('it is tried', () => bad.received.length > before, 60_000);
    }
    await eventually(
      'it is disabled',
      async () => {
        clock.advance(20 * minute);
        const { view } = await webhooks.endpoints.get(webhooks, endpointId);
        return view.disabledReason === 'Unreachable';
      },
      60_000,
    );
    await eventually('the others are told', () => good.received.length === 1);
    assert.equal(JSON.parse(good.received[0]?.body ?? '').data.reason, 'Unreachable');
  });
});

describe('many receivers with faults', () => {
  // Spec: QRPROV-38
  test('all receivers get every event, those without faults at once, from two processes', async () => {
    const size = sizeOfRun({ small: { events: 60, rounds: 3 }, full: { events: 400, rounds: 20 } });
    const chance = createSeededRandom(seed);
    // Longer than a busy machine delays a working receiver.
    const times = { timeoutMs: 2_000, leaseMs: 15_000 };
    const first = await openWebhooks({ times });
    const second = closeAfterTest(await startTestWebhooks({ databaseUrl: first.url, times }));
    second.start();
    const kinds = Object.values(faults);
    const good = await Promise.all([open(), open(), open()]);
    const fickle = await Promise.all(Array.from({ length: 6 }, () => open()));
    const ids = new Map<Receiver, string>();
    for (const to of [...good, ...fickle]) {
      ids.set(to, (await first.endpoint(to.url)).endpointId);
    }
    let events = 0;
    for (let round = 0; round < size.rounds; round += 1) {
      for (const to of fickle) {
        const how = chance.pick([...kinds, accept, accept]);
        to.answer((received, reply, request) =>
          (chance.below(3) === 0 ? accept : how)(received, reply, request),
        );
      }
      await chance.pick([first, second]).happen(size.events, first.organizationId);
      events += size.events;
      const began = performance.now();
      await eventually(
        'the good ones have all',
        () => good.every((to) => assertSameBytes(to).size >= events),
        60_000,
      );
      printResult(
        `round ${round}: good ones done after ${Math.round(performance.now() - began)} ms`,
      );
    }
    for (const to of fickle) to.answer(accept);
    for (const [to, endpointId] of ids) {
      await eventually(
        'everything is delivered',
        async () => (await first.counts(endpointId))['Delivered'] === events,
        60_000,
      );
      assert.equal(assertSameBytes(to).size, events);
    }
    for (const to of good) {
      await assertNoMoreThanLogged(first, ids.get(to) ?? '', to);
    }
  });

  // Spec: QRPROV-37
  test('an endpoint that answered 410 continues at its new address', async () => {
    const webhooks = await openWebhooks({ times: { ...quickTimes, timeoutMs: 5_000 } });
    const { promise: lookups, resolve: ask } = Promise.withResolvers<ServerResponse>();
    const [old, young] = [await open((_received, reply) => ask(reply)), await open()];
    const { endpointId } = await webhooks.endpoint(old.url, ['transaction.*']);
    await webhooks.happen(1);
    const reply = await lookups;
    await webhooks.endpoints.replace(webhooks.by, endpointId, {
      url: young.url,
      eventTypes: ['transaction.*'],
    });
    reply.writeHead(410).end();
    await eventually('it comes to the new address', () => young.received.length === 1);
    const { view } = await webhooks.endpoints.get(webhooks, endpointId);
    assert.deepEqual([view.status, view.url], ['Enabled', young.url]);
    await webhooks.happen(2);
    await eventually('and so does what follows', () => assertSameBytes(young).size === 3);
  });
});
