// The connection loop of a device client, with a small connector over real TLS.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, beforeEach, describe, test } from 'node:test';
import { claimCodeForm, closeCodes } from '@switchyard/contract';
import { type SteppedClock, steppedClock } from '@switchyard/sdk-core/testing';
import { makeClaimCode } from '../authentication/terminal-claim.ts';
import { DeviceError } from '../support/device-error.ts';
import { type TestCertificates, testCertificates } from '../testing/certificates.fixture.ts';
import { type FakeConnector, startFakeConnector } from '../testing/fake-connector.fixture.ts';
import {
  createDeviceClient,
  type DeviceClient,
  type DeviceClientOptions,
} from './device-client.ts';
import type { DeviceState } from './device-events.ts';
import type { PosActivity } from './pos-activity.ts';

const tsn = 'AXIUM_DX8000-10000001';
const half = 0.5;

/** Waits for a condition, not for a fixed time. */
async function eventually(description: string, condition: () => boolean): Promise<void> {
  for (const end = performance.now() + 30_000; performance.now() < end; ) {
    if (condition()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.fail(`${description}: not in time`);
}

let certificates: TestCertificates;
let connector: FakeConnector;
let clock: SteppedClock;
const clients: DeviceClient[] = [];

type Watched = {
  client: DeviceClient;
  states: DeviceState[];
  errors: DeviceError[];
  pauses: number[];
};

function watch(more: Partial<DeviceClientOptions> = {}): Watched {
  const client = createDeviceClient({
    tsn,
    registerUrl: connector.registerUrl,
    clock,
    random: () => half,
    tls: { ca: certificates.ca, ...certificates.device },
    registrationData: { client_id: 'a', client_secret: 's' },
    ...more,
  });
  clients.push(client);
  const states: DeviceState[] = [];
  const errors: DeviceError[] = [];
  const pauses: number[] = [];
  client.on('state', ({ state, retryInMs }) => {
    states.push(state);
    if (retryInMs !== undefined) pauses.push(retryInMs);
  });
  client.on('error', (error) => errors.push(error));
  return { client, states, errors, pauses };
}

async function connected(watched: Watched): Promise<Watched> {
  watched.client.start();
  await eventually('connected', () => watched.client.state === 'Connected');
  return watched;
}

const waiting = (watched: Watched, times: number) =>
  eventually(`pause ${times}`, () => watched.pauses.length === times);

before(async () => {
  certificates = await testCertificates();
});
async function stopAll(): Promise<void> {
  await Promise.all(clients.splice(0).map((client) => client.stop()));
  await connector.stop();
}
after(() => assert.equal(clients.length, 0));

describe('a device client', () => {
  // The hook is inside the suite; at the top level it would run for every file of the test run.
  beforeEach(async () => {
    clock = steppedClock();
    connector = await startFakeConnector(certificates);
  });

  // Spec: PROV-10
  test('sends the displayed claim code until the terminal is claimed', async (t) => {
    t.after(stopAll);
    const codes = ['AAAA-AAAA', makeClaimCode()];
    assert.match(String(codes[1]), new RegExp(claimCodeForm));
    let requestCount = 0;
    connector.answer = () => ({
      type: 'error',
      error: {
        code: 'device_not_claimed',
        message: 'Enter the code.',
        retryable: true,
        retryAfterSeconds: 10,
      },
    });
    const watched = watch({ claimCode: () => codes[requestCount++] });
    watched.client.start();
    await waiting(watched, 1);
    assert.equal(watched.errors[0]?.code, 'device_not_claimed');
    assert.deepEqual(watched.pauses, [10_000]);
    connector.answer = undefined;
    clock.advance(10_000);
    await eventually('connected', () => watched.client.state === 'Connected');
    const sent = connector.registrations.map(({ claimCode }) => claimCode);
    assert.deepEqual(sent, codes);
  });

  test('registers with its certificate, connects with its token and transfers data both ways', async (t) => {
    t.after(stopAll);
    const { client, states } = watch({ softwareVersion: '1.4.0' });
    const heard: [string, boolean][] = [];
    client.on('message', ({ data, isBinary }) => heard.push([data.toString('utf8'), isBinary]));
    await assert.rejects(client.send('early'), { kind: 'NotSent', code: 'not_connected' });
    client.start();
    client.start();
    await eventually('connected', () => client.state === 'Connected');
    assert.deepEqual(connector.registrations, [
      { client_id: 'a', client_secret: 's', type: 'register', tsn, softwareVersion: '1.4.0' },
    ]);
    assert.deepEqual(connector.headers, ['Bearer token-1']);
    assert.deepEqual(connector.certificateNames, ['device', 'device']);
    const [peer] = connector.connections;
    assert.ok(peer);
    peer.send('text ✓');
    peer.send(Buffer.from('bytes'));
    await eventually('both', () => heard.length === 2);
    assert.deepEqual(heard, [
      ['text ✓', false],
      ['bytes', true],
    ]);
    const reply = once(peer, 'message');
    await client.send('{"a":1}');
    assert.deepEqual((await reply).map(String), ['{"a":1}', 'false']);
    const bytes = once(peer, 'message');
    await client.send(new Uint8Array([1, 2]));
    assert.equal((await bytes)[1], true);
    await assert.rejects(client.send('x'.repeat(65_537)), { code: 'message_too_large' });
    const closed = once(peer, 'close');
    await client.stop();
    assert.equal((await closed)[0], 1000);
    assert.deepEqual(states, ['Registering', 'Connecting', 'Connected', 'Stopped']);
  });

  // Spec: NEXO-41
  test('reports the start and the end of point-of-sale activity once each', async (t) => {
    t.after(stopAll);
    const watched = await connected(watch({ posIdleMs: 5000 }));
    const activities: PosActivity[] = [];
    watched.client.on('posActivity', (traffic) => activities.push(traffic));
    let heard = 0;
    watched.client.on('message', () => {
      heard += 1;
    });
    const [peer] = connector.connections;
    assert.ok(peer);
    await watched.client.send('no point of sale is connected');
    assert.deepEqual(activities, []);
    peer.send('12345');
    await eventually('it speaks', () => activities.length === 1);
    const from = clock.now();
    assert.deepEqual(activities[0], { isActive: true, at: from, messages: 1, bytes: 5 });
    await eventually('the quiet is waited for', () => clock.waits().includes(5000));
    clock.advance(4000);
    await watched.client.send('€');
    clock.advance(1000);
    await eventually('it goes on', () => clock.waits().includes(4000));
    peer.send('1');
    await eventually('the third', () => heard === 2);
    clock.advance(4000);
    await eventually('a second more', () => clock.waits().includes(1000));
    assert.equal(activities.length, 1);
    clock.advance(1000);
    await eventually('quiet', () => activities.length === 2);
    assert.deepEqual(activities[1], { isActive: false, at: from + 10_000, messages: 3, bytes: 9 });
    peer.send('again');
    await eventually('it speaks again', () => activities.length === 3);
    peer.terminate();
    await eventually('the break', () => activities.length === 4);
    const flowing = activities.map(({ isActive }) => isActive);
    assert.deepEqual(flowing, [true, false, true, false]);
  });

  // Spec: NEXO-41
  test('logs its actions without message data', async (t) => {
    t.after(stopAll);
    const lines: string[] = [];
    const line = (level: string) => (facts: object, text: string) =>
      void lines.push(JSON.stringify({ level, text, ...facts }));
    const log = { debug: line('debug'), info: line('info'), warn: line('warn') };
    const secret = 'of-the-terminal';
    const registrationData = { client_id: 'a', client_secret: secret };
    const watched = await connected(watch({ log, registrationData }));
    const [peer] = connector.connections;
    assert.ok(peer);
    let heard = 0;
    watched.client.on('message', () => {
      heard += 1;
    });
    const card = `4${'1'.repeat(15)}`;
    peer.send(card);
    await eventually('heard', () => heard === 1);
    await watched.client.send(`${card}=2512`);
    peer.close(closeCodes.restarting, 'restarting:c-9');
    await waiting(watched, 1);
    const all = lines.join('\n');
    for (const never of [card, secret, 'token-1']) assert.ok(!all.includes(never), never);
    for (const activities of [
      '"state":"Connected"',
      '"bytes":16',
      '"bytes":21',
      '"code":"restarting"',
    ]) {
      assert.ok(all.includes(activities), `${activities} in\n${all}`);
    }
    assert.match(all, /"level":"warn".*"correlationId":"c-9"/);
  });

  // Spec: NEXO-70
  test('retry delays double with full jitter from one second to one minute', async (t) => {
    t.after(stopAll);
    connector.rejectHandshake = () => ({ status: 502 });
    const watched = watch();
    watched.client.start();
    for (let times = 1; times <= 8; times += 1) {
      if (times > 1) clock.advance(60_000);
      await waiting(watched, times);
    }
    assert.deepEqual(
      watched.pauses.slice(0, 8),
      [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000],
    );
    assert.deepEqual(new Set(watched.errors.map(({ code }) => code)), new Set(['http_502']));
    connector.rejectHandshake = undefined;
    clock.advance(60_000);
    await eventually('connected', () => watched.client.state === 'Connected');
  });

  // Spec: NEXO-65
  test('a rejected handshake has the error code and detail of the platform', async (t) => {
    t.after(stopAll);
    const detail = 'The application has lost its role.';
    connector.rejectHandshake = () => ({
      status: 403,
      body: JSON.stringify({ code: 'role_missing', detail }),
    });
    const watched = watch();
    watched.client.start();
    await waiting(watched, 1);
    const [error] = watched.errors;
    assert.deepEqual(
      [error?.code, error?.status, error?.message],
      ['role_missing', 403, `the handshake was answered with 403 role_missing: ${detail}`],
    );
    connector.rejectHandshake = () => ({ status: 403, body: '{"code":' });
    clock.advance(watched.pauses[0] ?? 0);
    await waiting(watched, 2);
    assert.equal(watched.errors[1]?.message, 'the handshake was answered with 403');
  });

  test('a stable connection resets the retry delays, an unstable one does not', async (t) => {
    t.after(stopAll);
    const watched = await connected(watch());
    for (let times = 1; times <= 3; times += 1) {
      connector.connections.at(-1)?.terminate();
      await waiting(watched, times);
      clock.advance(60_000);
      await eventually('again', () => connector.connections.length === times + 1);
      await eventually('connected', () => watched.client.state === 'Connected');
    }
    assert.deepEqual(watched.pauses, [500, 1000, 2000]);
    clock.advance(10_000);
    connector.connections.at(-1)?.terminate();
    await waiting(watched, 4);
    assert.equal(watched.pauses[3], 500);
  });

  test('after a restart of the platform the client waits a random time up to 30 seconds', async (t) => {
    t.after(stopAll);
    const watched = await connected(watch());
    connector.connections[0]?.close(closeCodes.restarting, 'restarting:c-1');
    await waiting(watched, 1);
    assert.equal(watched.pauses[0], 15_000);
    const [error] = watched.errors;
    assert.equal(error?.code, 'restarting');
    assert.equal(error?.correlationId, 'c-1');
  });

  // Spec: NEXO-70
  test('another process with the same terminal stops this client until the next start', async (t) => {
    t.after(stopAll);
    const watched = await connected(watch());
    let activities = 0;
    watched.client.on('superseded', () => {
      activities += 1;
    });
    connector.connections[0]?.close(closeCodes.superseded, 'superseded:c-2');
    await eventually('superseded', () => activities === 1);
    assert.equal(watched.client.state, 'Superseded');
    assert.deepEqual(clock.waits(), []);
    await connected(watched);
    assert.equal(connector.connections.length, 2);
  });

  test('a permanent refusal is retried after minutes and has the code of the platform', async (t) => {
    t.after(stopAll);
    connector.answer = () => ({
      type: 'error',
      error: { code: 'device_unknown', message: 'No.', retryable: false },
      correlationId: 'c-3',
    });
    const watched = watch();
    watched.client.start();
    await waiting(watched, 1);
    const [error] = watched.errors;
    assert.deepEqual(
      [error?.kind, error?.code, error?.correlationId],
      ['Refused', 'device_unknown', 'c-3'],
    );
    assert.equal(watched.pauses[0], 225_000);
    connector.answer = () => ({
      type: 'error',
      error: { code: 'rate_limited', message: 'Slow.', retryable: true, retryAfterSeconds: 7 },
      correlationId: 'c-4',
    });
    clock.advance(225_000);
    await waiting(watched, 2);
    assert.equal(watched.pauses[1], 7000);
    connector.answer = undefined;
    clock.advance(7000);
    await eventually('connected', () => watched.client.state === 'Connected');
  });

  for (const [description, answer] of [
    ['no JSON', () => 4400],
    ['a message of another kind', () => ({ type: 'claimed' })],
    [
      'an address without TLS',
      () => ({ type: 'registered', token: 't', connectionUrl: 'ws://localhost:1/' }),
    ],
    [
      'an address elsewhere',
      () => ({ type: 'registered', token: 't', connectionUrl: 'http://x.example/' }),
    ],
  ] as const) {
    test(`${description} is not a valid response to a registration`, async (t) => {
      t.after(stopAll);
      connector.answer = answer;
      const watched = watch();
      watched.client.start();
      await waiting(watched, 1);
      assert.equal(watched.errors.length, 1);
      assert.equal(connector.connections.length, 0);
    });
  }

  // Spec: NEXO-60
  test('invalid times and sizes are replaced by limits', async (t) => {
    t.after(stopAll);
    const error = { code: 'rate_limited', message: 'later', retryable: true };
    const activities = (retryAfterSeconds: number) => () => ({
      type: 'error',
      correlationId: 'c-1',
      error: { ...error, retryAfterSeconds },
    });
    connector.answer = activities(1e9);
    const watched = watch();
    watched.client.start();
    await waiting(watched, 1);
    assert.equal(watched.pauses[0], 600_000, 'the delay has an upper limit');
    connector.answer = activities(-1e9);
    clock.advance(600_000);
    await waiting(watched, 2);
    assert.equal(watched.pauses[1], 1_000, 'its own pause');
    connector.answer = () => ({
      type: 'registered',
      token: 't',
      tsn,
      heartbeatSeconds: 1e9,
      maxMessageBytes: 1e15,
      connectionUrl: connector.registerUrl.replace('device-listener', 'device-connections/1'),
    });
    clock.advance(1_000);
    await eventually('connected', () => watched.client.state === 'Connected');
    assert.ok(clock.waits().includes(300_000), 'the heart beats');
    const long = 'x'.repeat(16_777_217);
    await assert.rejects(watched.client.send(long), { code: 'message_too_large' });
  });

  test('a registration or connection without data ends after a timeout', async (t) => {
    t.after(stopAll);
    const { client, errors, pauses } = watch();
    connector.answer = () => 'silence';
    client.start();
    await eventually('registering', () => connector.registrations.length === 1);
    await eventually('a limit', () => clock.waits().includes(10_000));
    clock.advance(10_000);
    await eventually('given up', () => pauses.length === 1);
    assert.equal(errors[0]?.code, 'timeout');
    connector.answer = undefined;
    clock.advance(500);
    await eventually('connected', () => client.state === 'Connected');
    const [peer] = connector.connections;
    assert.ok(peer);
    // A half-open connection: the peer no longer reads and sends no pong.
    peer.pause();
    for (let beats = 0; beats < 3; beats += 1) {
      await eventually('a beat', () => clock.waits().includes(25_000));
      clock.advance(25_000);
    }
    await eventually('given up', () => pauses.length === 2);
    assert.equal(errors[1]?.status, 1006);
  });

  test('a signal stops the client and closes the connection', async (t) => {
    t.after(stopAll);
    const stop = new AbortController();
    const { client, states } = watch();
    client.start({ signal: stop.signal });
    await eventually('connected', () => client.state === 'Connected');
    stop.abort();
    await eventually('stopped', () => client.state === 'Stopped');
    assert.equal(states.at(-1), 'Stopped');
    assert.throws(() => createDeviceClient({ tsn, registerUrl: 'ws://pay.example/' }), DeviceError);
  });

  test('each attempt reads the certificates and credentials again', async (t) => {
    t.after(stopAll);
    let requestCount = 0;
    const watched = watch({
      tls: () => ({ ca: certificates.ca, ...certificates.device }),
      registrationData: async () => {
        requestCount += 1;
        if (requestCount === 1) throw new Error('no token yet');
        return { client_id: 'b', client_secret: `s${requestCount}` };
      },
    });
    watched.client.start();
    await waiting(watched, 1);
    assert.equal(watched.errors[0]?.message, 'no token yet');
    clock.advance(500);
    await eventually('connected', () => watched.client.state === 'Connected');
    assert.equal(connector.registrations[0]?.['client_secret'], 's2');
  });

  test('a client without a certificate cannot connect', async (t) => {
    t.after(stopAll);
    const watched = watch({ tls: { ca: certificates.ca } });
    watched.client.start();
    await waiting(watched, 1);
    assert.equal(connector.connections.length, 0);
    assert.equal(watched.errors[0]?.retryable, true);
  });
});
