// Tests that a node forwards a message to the session of another node, if it can reach that node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Terminal } from '../../provisioning/index.ts';
import type { MessageEndpoint } from '../forwarding/forward-messages.ts';
import { BackplaneError } from '../nodes/backplane.ts';
import { createFakeNats, type FakeNats } from '../nodes/fake-nats-connection.fixture.ts';
import { createNatsBackplane } from '../nodes/nats-backplane.ts';
import type { PosCaller } from '../pos/claim-requests.ts';
import type { RetailConnector } from './retail-dependencies.ts';
import { createTerminalSessionPool } from './terminal-session-pool.ts';

const asking = {
  caller: { organizationId: 'o', clientId: 'k', permissions: ['cc.pos'] },
} as unknown as PosCaller;
const terminal = { organizationId: 'o', physicalDeviceId: 'p', tsn: 'T-1' } as Terminal;
const claimOptions = { tsn: 'T-1', posId: 'till' };

const sentWhere = (request: () => Promise<never>) => {
  const connector = {
    backplane: { answerRequests: () => () => {}, request },
  } as unknown as RetailConnector;
  return createTerminalSessionPool({ connector, clock: { now: () => 0 } }).sendToOtherNode(
    asking,
    terminal,
    claimOptions,
    'abort',
  );
};

test('an abort is not sent to another node while the backplane is unavailable', async () => {
  const isSent = await sentWhere(() => Promise.reject(new BackplaneError('NATS is away')));
  assert.equal(isSent, false);
  await assert.rejects(
    sentWhere(() => Promise.reject(new RangeError('ours'))),
    RangeError,
  );
});

const never = new AbortController().signal;

/** Creates a node that opens its terminal sessions with `claim`. */
function nodeOn(nats: FakeNats, claim: () => Promise<{ readonly sessionId: string }>) {
  const log = { error: assert.fail } as unknown as Parameters<typeof createNatsBackplane>[0]['log'];
  const heard: string[] = [];
  const ends: MessageEndpoint[] = [];
  const connector = {
    backplane: createNatsBackplane({ natsClient: nats.natsClient(), log }),
    claims: { claim, release: async () => true },
    joinSession(_sessionId: string, end: MessageEndpoint) {
      ends.push(end);
      return {
        receive: (data: Buffer) => void heard.push(data.toString()),
        disconnected: () => {},
      };
    },
  } as unknown as RetailConnector;
  const lines = createTerminalSessionPool({ connector, clock: { now: () => 0 } });
  const acquire = () => lines.acquire(asking, terminal, claimOptions, never);
  const pass = (text: string) => lines.sendToOtherNode(asking, terminal, claimOptions, text);
  return { heard, ends, acquire, pass };
}

const session = async () => ({ sessionId: 's' });

// Spec: NEXO-27
test('an abort reaches the payment at another node, though a request waits for the terminal here', async () => {
  const nats = createFakeNats();
  const claimReceived = Promise.withResolvers<void>();
  const nextClaim = Promise.withResolvers<{ sessionId: string }>();
  const waiting = nodeOn(nats, () => {
    claimReceived.resolve();
    return nextClaim.promise;
  });
  const later = waiting.acquire();
  await claimReceived.promise;
  const paying = nodeOn(nats, session);
  const { session: line, release: free } = await paying.acquire();
  line.send('payment');
  assert.equal(await waiting.pass('abort'), true);
  assert.equal(await nodeOn(nats, session).pass('abort of a third node'), true);
  assert.deepEqual(paying.heard, ['payment', 'abort', 'abort of a third node']);
  free();
  nextClaim.resolve({ sessionId: 'next' });
  const lease = await later;
  assert.equal(await paying.pass('abort of the next'), true);
  assert.deepEqual(waiting.heard, ['abort of the next']);
  assert.equal(await waiting.pass('its own'), false, 'that goes over its own session');
  lease.release();
  assert.equal(await paying.pass('late'), false);
});

// Spec: NEXO-27
test('an abort reaches the session that came after one that has ended here', async () => {
  const nats = createFakeNats();
  const [one, other] = [nodeOn(nats, session), nodeOn(nats, session)];
  const ended = await one.acquire();
  one.ends[0]?.close(4003, 'device_disconnected');
  const next = await other.acquire();
  assert.equal(await one.pass('abort'), true);
  assert.deepEqual(other.heard, ['abort']);
  for (const { release: free } of [ended, next]) free();
});
