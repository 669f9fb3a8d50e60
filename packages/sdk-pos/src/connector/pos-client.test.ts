import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { closeCodes, connectorPaths } from '@switchyard/contract';
import { type SteppedClock, steppedClock } from '@switchyard/sdk-core/testing';
import {
  createPosClient,
  type DeviceStatus,
  type PosClient,
  type PosClientSettings,
  PosError,
  type Session,
} from '../index.ts';
import { type FakeConnector, startFakeConnector } from '../testing/fake-connector.fixture.ts';
import { waitUntil } from '../testing/wait-until.fixture.ts';

const tsn = 'AXIUM_DX8000-10000001';

type ClientSetup = {
  readonly connector: FakeConnector;
  readonly client: PosClient;
  readonly clock: SteppedClock;
  readonly statuses: DeviceStatus[];
  readonly messages: (string | Buffer)[];
  readonly breaks: PosError[];
  claim(options?: Parameters<PosClient['claim']>[1]): Promise<Session>;
};

async function createSetup(
  t: TestContext,
  settings: Partial<PosClientSettings> = {},
): Promise<ClientSetup> {
  const connector = await startFakeConnector();
  const clock = steppedClock();
  const statuses: DeviceStatus[] = [];
  const messages: (string | Buffer)[] = [];
  const breaks: PosError[] = [];
  const client = createPosClient({
    baseUrl: connector.baseUrl,
    credentials: { tokenUrl: connector.tokenUrl, clientId: 'till-3', clientSecret: 'secret' },
    clock,
    random: () => 0.5,
    onDeviceStatus: (status) => statuses.push(status),
    ...settings,
  });
  t.after(async () => {
    client.close();
    await connector.stop();
  });
  const events = {
    onMessage: (data: string | Buffer) => messages.push(data),
    onConnectionLost: (error: PosError) => breaks.push(error),
  };
  const claim: ClientSetup['claim'] = (options = {}) => client.claim(tsn, options, events);
  return { connector, client, clock, statuses, messages, breaks, claim };
}

const isPosError =
  (kind: string, code: string) =>
  (error: unknown): boolean =>
    error instanceof PosError && error.kind === kind && error.code === code;

test('a claim opens a session that carries text and bytes, and a release ends it', async (t) => {
  const {
    connector,
    messages,
    breaks: connectionErrors,
    claim,
  } = await createSetup(t, { posId: 'till-3' });
  connector.terminal = (text, say) => say(`heard ${text}`);
  const session = await claim({ waitSeconds: 10, takeOver: true });
  await session.send('hello');
  await session.send(Buffer.from([1, 2, 3]));
  await waitUntil(() => messages.length === 2, 'both answers');
  assert.deepEqual(messages, ['heard hello', Buffer.from([1, 2, 3])]);
  await session.release();
  await assert.rejects(session.send('more'), isPosError('Transport', 'not_connected'));
  const [claim1, release] = connector.receivedMessages;
  assert.deepEqual(claim1, {
    type: 'claim',
    tsn,
    waitSeconds: 10,
    posId: 'till-3',
    takeOver: true,
    requestId: '1',
  });
  assert.equal(release?.['sessionId'], 'session-1');
  assert.deepEqual(connectionErrors, []);
  assert.deepEqual(connector.authorizations, ['Bearer token-1']);
});

test('a refusal of the connector has its code and retry time', async (t) => {
  const { connector, claim } = await createSetup(t);
  connector.isOnline = false;
  await assert.rejects(claim(), (error: unknown) => {
    assert.ok(error instanceof PosError);
    const { kind, code, outcome, retryable, retryAfterMs, correlationId } = error;
    assert.deepEqual(
      { kind, code, outcome, retryable, retryAfterMs, correlationId },
      {
        kind: 'Connector',
        code: 'device_offline',
        outcome: 'NotProcessed',
        retryable: true,
        retryAfterMs: 5000,
        correlationId: 'c-1',
      },
    );
    return true;
  });
});

// Spec: NEXO-60
test('invalid retry times and unsafe addresses are rejected', async (t) => {
  const { connector, claim } = await createSetup(t);
  for (const [seconds, ms] of [
    [1e9, 600_000],
    [-5, undefined],
    [3, 3000],
  ] as const) {
    connector.answer = ({ requestId }) => ({
      type: 'error',
      requestId,
      correlationId: 'c-1',
      error: { code: 'rate_limited', message: 'm', retryAfterSeconds: seconds },
    });
    await assert.rejects(claim(), (error: unknown) => {
      assert.ok(error instanceof PosError);
      assert.equal(error.retryAfterMs, ms, String(seconds));
      return true;
    });
  }
  for (const sessionUrl of ['ws://pay.example/s', 'https://pay.example/s', 'nothing', 7]) {
    connector.answer = ({ type, requestId }) =>
      type === 'claim'
        ? { type: 'claimed', requestId, tsn, sessionId: 's', sessionUrl }
        : undefined;
    await assert.rejects(claim(), isPosError('Invalid', 'address_invalid'), String(sessionUrl));
    assert.equal(
      connector.receivedMessages.at(-1)?.['type'],
      'release',
      'the terminal is given back',
    );
  }
});

test('concurrent calls share one token and one connection', async (t) => {
  const { connector, client } = await createSetup(t);
  const [first, second] = await Promise.all([client.status(tsn), client.status('10000002')]);
  assert.equal(first.online, true);
  assert.equal(second.tsn, '10000002');
  assert.equal(connector.tokens.length, 1);
  assert.equal(connector.controls.length, 1);
});

// Spec: NEXO-38
test('the client resumes a session after the terminal disconnected, and receives the held messages', async (t) => {
  const { connector, messages, breaks: connectionErrors, claim } = await createSetup(t);
  const session = await claim();
  connector.sessions[0]?.close(closeCodes.deviceDisconnected, 'device_disconnected:c-7');
  await waitUntil(() => connectionErrors.length === 1, 'the break');
  assert.ok(isPosError('Connector', 'device_disconnected')(connectionErrors[0]));
  assert.equal(connectionErrors[0]?.correlationId, 'c-7');
  assert.equal(connectionErrors[0]?.retryable, true);
  connector.heldMessages = ['sent during the break'];
  assert.equal(await session.resume({ waitSeconds: 30 }), true);
  assert.equal(connector.receivedMessages[1]?.['resumeToken'], 'resume-1');
  assert.equal(session.sessionId(), 'session-2');
  await waitUntil(() => messages.length === 1, 'held messages');
  assert.deepEqual(messages, ['sent during the break']);
});

test('a session that breaks without a close frame is reported and resumed', async (t) => {
  const { connector, breaks: connectionErrors, claim } = await createSetup(t);
  const session = await claim();
  connector.sessions[0]?.terminate();
  await waitUntil(() => connectionErrors.length === 1, 'the break');
  assert.ok(isPosError('Transport', 'connection_lost')(connectionErrors[0]));
  assert.equal(await session.resume(), true);
});

test('the control connection reconnects while a session exists and not after', async (t) => {
  const { connector, clock, statuses, claim } = await createSetup(t);
  const session = await claim();
  connector.controls[0]?.close(closeCodes.restarting);
  await waitUntil(() => clock.waits().includes(15_000), 'a pause of half of thirty seconds');
  assert.equal(session.isOpen(), true);
  clock.advance(15_000);
  await waitUntil(() => statuses.length === 1, 'the status request arrived');
  assert.equal(connector.controls.length, 2);
  connector.push({ type: 'deviceStatus', tsn, online: false, claimed: true });
  await waitUntil(() => statuses.length === 2, 'pushed messages');
  assert.equal(statuses[1]?.online, false);
  await session.release();
  const before = clock.waits().length;
  connector.controls[1]?.terminate();
  await waitUntil(() => clock.waits().length < before, 'no heartbeat');
  clock.advance(60_000);
  assert.equal(connector.controls.length, 2);
});

// Spec: NEXO-49
test('a control connection closed for lack of claims reopens at the next call', async (t) => {
  const states: boolean[] = [];
  const { connector, clock, statuses, claim } = await createSetup(t, {
    onConnection: (isOpen) => void states.push(isOpen),
  });
  const session = await claim();
  for (const each of [...connector.controls, ...connector.sessions]) {
    each.close(closeCodes.restarting, 'restarting');
  }
  await waitUntil(() => clock.waits().includes(15_000), 'a pause of half of thirty seconds');
  clock.advance(15_000);
  await waitUntil(() => statuses.length === 1, 'the status request arrived');
  assert.deepEqual(states, [true, false, true]);
  connector.controls[1]?.close(closeCodes.timeout, 'timeout:c-3');
  await waitUntil(() => states.length === 4, 'the end');
  assert.ok(!clock.waits().includes(500), 'it is about to come back');
  clock.advance(60_000);
  assert.equal(connector.controls.length, 2);
  assert.equal(await session.resume(), true);
  assert.equal(connector.controls.length, 3);
  connector.controls[2]?.terminate();
  await waitUntil(() => clock.waits().includes(500), 'a pause before it comes back');
});

test('a new token is sent before the old one expires', async (t) => {
  const { connector, clock, claim } = await createSetup(t);
  connector.tokenSeconds = 300;
  await claim();
  clock.advance(270_000);
  await waitUntil(() => connector.receivedMessages.length === 2, 'the renewal');
  assert.deepEqual(connector.receivedMessages[1], {
    type: 'renewToken',
    token: 'token-2',
    requestId: '2',
  });
  assert.equal(connector.controls.length, 1);
});

test('a session sends its token and replaces a revoked one once', async (t) => {
  const { claim, connector } = await createSetup(t);
  const authorizations: (string | undefined)[] = [];
  let revoked = '';
  connector.rejectHandshake = (path, authorization) => {
    if (!path.startsWith(connectorPaths.sessions)) return undefined;
    authorizations.push(authorization);
    return authorization === undefined || authorization === revoked ? { status: 401 } : undefined;
  };
  await (await claim()).release();
  revoked = 'Bearer token-1';
  await (await claim()).release();
  assert.deepEqual(authorizations, ['Bearer token-1', 'Bearer token-1', 'Bearer token-2']);
  connector.rejectHandshake = (path) =>
    path.startsWith(connectorPaths.sessions) ? { status: 401 } : undefined;
  await assert.rejects(claim(), isPosError('Transport', 'unauthorized'));
  assert.equal(
    connector.receivedMessages.at(-1)?.['type'],
    'release',
    'the terminal is free again',
  );
});

test('a token refused before its expiry is replaced once', async (t) => {
  let isOpen = false;
  const onConnection = (now: boolean) => {
    isOpen = now;
  };
  const { connector, client } = await createSetup(t, { onConnection });
  let refusals = 0;
  connector.rejectHandshake = () => {
    refusals += 1;
    return refusals === 1 ? { status: 401 } : undefined;
  };
  await client.status(tsn);
  assert.deepEqual(connector.authorizations, ['Bearer token-2']);
  connector.rejectHandshake = () => ({ status: 401 });
  connector.controls[0]?.terminate();
  await waitUntil(() => !isOpen, 'the cut');
  await assert.rejects(client.status(tsn), isPosError('Transport', 'unauthorized'));
  assert.equal(connector.tokens.length, 3);
});

// Spec: NEXO-65
test('a rejected handshake has the error code and detail of the platform', async (t) => {
  const { connector, client } = await createSetup(t);
  const detail = 'The application does not have the role Point-of-sale Terminal.';
  const body = JSON.stringify({ code: 'role_missing', detail });
  connector.rejectHandshake = () => ({ status: 403, body });
  await assert.rejects(client.status(tsn), {
    kind: 'Transport',
    code: 'role_missing',
    status: 403,
    message: `the handshake was answered with 403 role_missing: ${detail}`,
  });
  for (const unread of ['<html>', 'x'.repeat(20_000)]) {
    connector.rejectHandshake = () => ({ status: 403, body: unread });
    await assert.rejects(client.status(tsn), {
      code: 'http_403',
      message: 'the handshake was answered with 403',
    });
  }
});

// Spec: NEXO-65
test('a refused token request has the code and detail of the token endpoint', async (t) => {
  const body = { error: 'invalid_client', error_description: 'client authentication failed' };
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const credentials = { tokenUrl: `${baseUrl}/token`, clientId: 'a', clientSecret: 's3cr3t' };
  const client = createPosClient({ baseUrl, credentials });
  await assert.rejects(client.status(tsn), {
    kind: 'Transport',
    code: 'invalid_client',
    message: 'the token request failed: status 401 invalid_client: client authentication failed',
  });
  client.close();
});

test('a claim whose session address is unusable is released', async (t) => {
  const { connector, claim } = await createSetup(t);
  connector.rejectHandshake = (path) => (path.includes('/sessions/') ? { status: 410 } : undefined);
  await assert.rejects(claim(), isPosError('Transport', 'session_gone'));
  assert.equal(connector.receivedMessages[1]?.['type'], 'release');
});

test('an aborted claim is released when the connector grants it', async (t) => {
  const { connector, claim } = await createSetup(t);
  connector.answer = () => 'silence';
  const stop = new AbortController();
  const pending = claim({ waitSeconds: 30, signal: stop.signal });
  await waitUntil(() => connector.receivedMessages.length === 1, 'the claim');
  stop.abort();
  await assert.rejects(pending, isPosError('Aborted', 'aborted'));
  connector.answer = undefined;
  connector.push({ type: 'claimed', requestId: '1', tsn, sessionId: 'session-9' });
  await waitUntil(() => connector.receivedMessages.length === 2, 'the release');
  assert.equal(connector.receivedMessages[1]?.['sessionId'], 'session-9');
});

// Spec: NEXO-38
test('a session is released over another control connection than the one that claimed it', async (t) => {
  for (const posId of ['till-3', undefined]) {
    const connections: boolean[] = [];
    const onConnection = (isOpen: boolean) => void connections.push(isOpen);
    const {
      connector,
      breaks: connectionErrors,
      claim,
    } = await createSetup(t, { posId, onConnection });
    const session = await claim();
    let isClaimed = true;
    // As on the platform: over another connection, terminal and point of sale identify the session.
    connector.answer = ({ type, requestId, ...named }) => {
      if (type !== 'release') return undefined;
      isClaimed = named['tsn'] !== tsn || named['posId'] !== posId;
      const error = { code: 'session_unknown', message: 'session_unknown', retryable: false };
      return isClaimed ? { type: 'error', requestId, correlationId: 'c-1', error } : undefined;
    };
    for (const each of [...connector.controls, ...connector.sessions]) each.terminate();
    await waitUntil(() => connectionErrors.length === 1 && connections.length === 2, 'both breaks');
    await session.release();
    assert.deepEqual(connections, [true, false, true]);
    assert.equal(isClaimed, false, String(posId));
  }
});

test('a session of a moved terminal counts as released; another refusal is an error', async (t) => {
  for (const code of ['session_unknown', 'device_unknown', 'wrong_store', 'rate_limited']) {
    const { connector, claim } = await createSetup(t);
    const session = await claim();
    const error = { code, message: code, retryable: false };
    connector.answer = ({ type, requestId }) =>
      type === 'release' ? { type: 'error', requestId, correlationId: 'c-1', error } : undefined;
    if (code === 'rate_limited') await assert.rejects(session.release(), { code });
    else await session.release();
    assert.equal(session.isOpen(), false);
  }
});

test('a session released during its resume stays released', async (t) => {
  for (const moment of ['claim', 'connection'] as const) {
    const { connector, claim, breaks: connectionErrors } = await createSetup(t);
    const session = await claim();
    connector.sessions.at(-1)?.terminate();
    await waitUntil(() => !session.isOpen(), 'the break');
    const releasing: Promise<void>[] = [];
    if (moment === 'claim') {
      connector.answer = ({ type }) => {
        if (type === 'claim') releasing.push(session.release());
        return undefined;
      };
    } else {
      connector.rejectHandshake = () => {
        releasing.push(session.release());
        return undefined;
      };
    }
    await assert.rejects(session.resume(), isPosError('Invalid', 'closed'));
    await Promise.all(releasing);
    assert.equal(releasing.length, 1, moment);
    const released = connector.receivedMessages.filter(({ type }) => type === 'release');
    assert.ok(released.some(({ sessionId }) => sessionId === 'session-2'));
    assert.equal(session.isOpen(), false);
    await waitUntil(() => connector.sessions.every((each) => each.readyState === 3), 'the ends');
    assert.equal(connectionErrors.length, 1);
  }
});

test('a missing response ends with a timeout', async (t) => {
  const { connector, client, clock } = await createSetup(t);
  connector.answer = () => 'silence';
  const pending = client.status(tsn);
  await waitUntil(() => connector.receivedMessages.length === 1, 'the question');
  clock.advance(10_000);
  await assert.rejects(pending, isPosError('Transport', 'timeout'));
});

test('secrets are sent only with TLS or to loopback, and never appear in errors', async () => {
  const credentials = {
    tokenUrl: 'http://pay.example/token',
    clientId: 'a',
    clientSecret: 's3cr3t',
  };
  const isInvalid = isPosError('Invalid', 'address_invalid');
  assert.throws(() => createPosClient({ baseUrl: 'https://pay.example', credentials }), isInvalid);
  const fetchToken = async () => {
    throw new Error('s3cr3t');
  };
  const plain = { baseUrl: 'http://pay.example', credentials: { fetchToken } };
  assert.throws(() => createPosClient(plain), isInvalid);
  const client = createPosClient({ baseUrl: 'http://127.0.0.1:1', credentials: { fetchToken } });
  await assert.rejects(client.status(tsn), (error: unknown) => {
    assert.ok(isPosError('Transport', 'token_refused')(error));
    assert.doesNotMatch((error as Error).message, /s3cr3t/);
    return true;
  });
});
