import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { connectorPaths } from '@switchyard/contract';
import { steppedClock } from '@switchyard/sdk-core/testing';
import { createPosClient, PosError } from '../index.ts';
import { startFakeConnector } from '../testing/fake-connector.fixture.ts';
import { waitUntil } from '../testing/wait-until.fixture.ts';

const tsn = 'AXIUM_DX8000-10000001';
const hourMs = 3_600_000;

/** A broken session with an open control connection and a token server that gives no tokens. */
async function createBrokenSession(t: TestContext) {
  const connector = await startFakeConnector();
  const clock = steppedClock();
  let tokenCount = 0;
  let isOver = false;
  const client = createPosClient({
    baseUrl: connector.baseUrl,
    clock,
    random: () => 0.5,
    credentials: {
      fetchToken() {
        tokenCount += 1;
        if (tokenCount > 1) throw new Error('the token server is offline');
        return Promise.resolve({ token: 'token-1', expiresAt: clock.now() + hourMs });
      },
    },
  });
  t.after(async () => {
    client.close();
    await connector.stop();
  });
  const messages: unknown[] = [];
  const session = await client.claim(
    tsn,
    {},
    {
      onMessage: (data) => messages.push(data),
      onConnectionLost: () => {
        isOver = true;
      },
    },
  );
  // In its last half minute a token is not used for new connections.
  clock.advance(hourMs - 20_000);
  connector.sessions[0]?.terminate();
  await waitUntil(() => isOver, 'the break');
  return { connector, session, messages };
}

// Spec: NEXO-50
test('a session is resumed without a token if the platform does not require one', async (t) => {
  const { connector, session, messages } = await createBrokenSession(t);
  const authorizations: (string | undefined)[] = [];
  connector.rejectHandshake = (path, authorization) => {
    if (path.startsWith(connectorPaths.sessions)) authorizations.push(authorization);
    return undefined;
  };
  connector.heldMessages = ['sent during the break'];
  assert.equal(await session.resume(), true);
  await waitUntil(() => messages.length === 1, 'held messages');
  assert.deepEqual(authorizations, [undefined]);
  await session.release();
});

test('a missing token is an error if the platform requires one', async (t) => {
  const { connector, session } = await createBrokenSession(t);
  connector.rejectHandshake = (path, authorization) =>
    path.startsWith(connectorPaths.sessions) && authorization === undefined
      ? { status: 401 }
      : undefined;
  await assert.rejects(
    session.resume(),
    (error) => error instanceof PosError && error.code === 'token_refused',
  );
  const released = connector.receivedMessages.filter(({ type }) => type === 'release');
  assert.equal(released.length, 1, 'the address is given back');
});
