// Tests the connection limits of points of sale, and their sessions after a token is revoked.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { closeCodes, ProblemError } from '@switchyard/contract';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import type { AcceptedUpgrade } from '../../http/index.ts';
import { BackplaneError, type Message } from '../nodes/backplane.ts';
import { createPosListener } from './accept-control-connection.ts';
import { createClaims } from './claim-requests.ts';

type Deps = Parameters<typeof createPosListener>[0];

const permissions = new Set(['cc.pos']);
const day = 86_400_000;
const settings = { connectorConnections: 100_000 };

function sample() {
  const { route } = createPosListener({
    settings,
    times: { sessionMaxMs: day },
    webSockets: { size: () => 0 },
    claims: { roleFault: async () => undefined },
    metrics: { observeClaims: () => {} },
    clock: { now: () => 1000 },
  } as unknown as Deps);
  return (organizationId: string): Promise<AcceptedUpgrade> =>
    route.accept({
      caller: { organizationId, clientId: 'till-7', permissions },
      token: 't',
    } as unknown as Parameters<typeof route.accept>[0]);
}

// Spec: LIST-4
it('clients of one name in two organisations have a rate each', async () => {
  const admit = sample();
  const isLimited = (error: unknown) =>
    error instanceof ProblemError && error.code === 'rate_limited';
  for (let n = 0; n < 2000; n += 1) await admit('one');
  await assert.rejects(admit('one'), isLimited);
  assert.ok(await admit('other'));
});

type Socket = { heard: (data: Buffer, isBinary: boolean) => void };

/** How the node of a device answers a request. */
type Node = () => Promise<Message | undefined>;

/** Creates points of sale with one device each; the test controls the nodes of the devices. */
function createSetup(connectorConnections = 100) {
  const nodes = new Map<string, Node>();
  const checkedSessionIds: string[] = [];
  const lines: { count?: number; err?: unknown; text: string }[] = [];
  const verdicts = new Map<string, Error>();
  let time = 0;
  const clock = { now: () => time };
  const claims = createClaims({
    clock,
    backplane: {
      request: async (_: string, { kind, sessionId, owner }: Message) => {
        // The session ID is the name of the client.
        if (kind === 'claim') return { sessionId: String(owner).split('/')[0], expiresInMs: 1 };
        checkedSessionIds.push(String(sessionId));
        return (nodes.get(String(sessionId)) ?? (async () => ({ released: true })))();
      },
      subscribe: () => () => {},
    },
    devices: {
      find: async (_: string, tsn: string) => ({ tsn, physicalDeviceId: tsn, merchantId: 'm' }),
      requireUsable: (device: unknown) => device,
    },
    clients: { currentPermissions: async () => ['cc.pos'] },
    presence: {
      find: async (_: string, [id]: string[]) =>
        new Map([[id, { isOnline: true, lastSeenAt: -day }]]),
    },
  } as unknown as Parameters<typeof createClaims>[0]);
  const closed = new Map<string, number>();
  const listener = createPosListener({
    claims,
    clock,
    settings: { connectorConnections },
    times: { sessionMaxMs: day, claimWithinMs: day, slowReaderMs: day },
    metrics: { observeClaims: () => {}, countFault: () => {} },
    log: {
      info: () => {},
      warn: (facts: object, text: string) => lines.push({ ...facts, text }),
      error: (facts: object, text: string) => assert.fail(`${text} ${JSON.stringify(facts)}`),
    },
    webSockets: {
      size: () => 0,
      add(socket: Socket, _: 'pos', id: string) {
        const ends: (() => void)[] = [];
        return {
          correlationId: id,
          send: (_data: string, _isBinary: boolean, sent?: () => void) => sent?.(),
          buffered: () => 0,
          pause: () => {},
          resume: () => {},
          close(code: number) {
            closed.set(id, code);
            for (const end of ends) end();
          },
          onMessage: (heard: Socket['heard']) => Object.assign(socket, { heard }),
          onClose: (end: () => void) => void ends.push(end),
        };
      },
    },
    async verifyToken(token: string) {
      const error = verdicts.get(token);
      if (error !== undefined) throw error;
      return { permissions, organizationId: 'o', clientId: token };
    },
  } as unknown as Deps);
  const { route } = listener;
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const revoked = new ProblemError('token_invalid', 'no');
  return {
    listener,
    checkedSessionIds,
    closed,
    lines,
    /** Resolves after the pending requests have finished. */
    settled,
    at(now: number) {
      time = now;
    },
    node: (name: string, node: Node) => void nodes.set(name, node),
    judge: (name: string, error: Error = revoked) => void verdicts.set(name, error),
    /** Opens a connection that has a session with a device. */
    async open(name: string) {
      const caller = { organizationId: 'o', clientId: name, permissions, expiresAt: 2 * day };
      const socket: Socket = { heard: () => {} };
      const came = { caller, token: name, presented: {}, id: name };
      const admitted = await route.accept(came as unknown as Parameters<typeof route.accept>[0]);
      const opened = [socket, new PassThrough()] as unknown as Parameters<typeof admitted.onOpen>;
      admitted.onOpen(...opened);
      const claim = { type: 'claim', requestId: '1', tsn: `AXIUM_DX8000-${name}` };
      socket.heard(Buffer.from(JSON.stringify(claim)), false);
      await settled();
    },
  };
}

const hangs: Node = () => new Promise(() => {});
const isAway: Node = () => Promise.reject(new BackplaneError('another node did not answer'));
const hasLostNats: Node = async () => undefined;

describe('the sessions of a revoked token', () => {
  for (const [what, node] of [
    ['does not answer', isAway],
    ['has lost NATS', hasLostNats],
  ] as const) {
    it(`get repeated end requests until their node answers, if the node ${what} at first`, async () => {
      const setup = createSetup();
      setup.node('till', node);
      await setup.open('till');
      setup.judge('till');
      for (let round = 1; round <= 3; round += 1) {
        const before = setup.checkedSessionIds.length;
        await setup.listener.recheck();
        await setup.settled();
        assert.ok(setup.checkedSessionIds.length > before, `it is not asked in round ${round}`);
      }
      assert.equal(setup.closed.get('till'), closeCodes.unauthorized);
      assert.ok(setup.lines.length > 0 && setup.lines.every(({ count }) => count === 1));
      // The server accepts the answer that there is no such session.
      setup.node('till', async () => ({ released: false }));
      await setup.listener.recheck();
      await setup.settled();
      const answered = setup.checkedSessionIds.length;
      await setup.listener.recheck();
      await setup.settled();
      assert.equal(setup.checkedSessionIds.length, answered);
    });
  }

  it('get no more end requests after they have expired, and the server logs it', async () => {
    const setup = createSetup();
    setup.node('till', isAway);
    await setup.open('till');
    setup.judge('till');
    await setup.listener.recheck();
    await setup.settled();
    setup.at(day);
    const { length } = setup.checkedSessionIds;
    await setup.listener.recheck();
    await setup.settled();
    assert.equal(setup.checkedSessionIds.length, length);
    assert.match(setup.lines.at(-1)?.text ?? '', /ending revoked sessions: they have expired/);
  });

  it('wait for their end up to a limit, and the server logs the dropped ones, also when it stops', async () => {
    const setup = createSetup(1);
    for (const name of ['a', 'b', 'c']) {
      setup.node(name, isAway);
      await setup.open(name);
      setup.judge(name);
      await setup.listener.recheck();
      await setup.settled();
    }
    assert.match(setup.lines.at(-1)?.text ?? '', /ending revoked sessions: too many are pending/);
    await setup.listener.stop();
    const { count, text } = setup.lines.at(-1) ?? {};
    assert.deepEqual(
      [count, text],
      [2, 'the server stopped ending revoked sessions: the process stops'],
    );
  });
});

describe('a round over the points of sale', () => {
  // Spec: NEXO-15
  it('waits for no node that does not answer', { timeout: 30_000 }, async () => {
    const setup = createSetup();
    const hung = Array.from({ length: 8 }, (_, at) => `hung${at}`);
    for (const name of [...hung, 'other']) {
      if (name !== 'other') setup.node(name, hangs);
      await setup.open(name);
      setup.judge(name);
    }
    await setup.listener.recheck();
    assert.equal(setup.closed.get('other'), closeCodes.unauthorized);
    await eventually('the end of the other session', () =>
      setup.checkedSessionIds.includes('other'),
    );
  });

  it('sends at most 16 requests to end sessions at a time', async () => {
    const setup = createSetup();
    let free = () => {};
    const pending = new Promise<undefined>((resolve) => {
      free = () => resolve(undefined);
    });
    for (let at = 0; at < 40; at += 1) {
      setup.node(`till${at}`, () => pending);
      await setup.open(`till${at}`);
      setup.judge(`till${at}`);
    }
    await setup.listener.recheck();
    await setup.settled();
    assert.equal(setup.checkedSessionIds.length, 16);
    free();
    await eventually(
      'all sessions are checked',
      () => new Set(setup.checkedSessionIds).size === 40,
    );
  });

  it('checks the other points of sale when the check of one fails', async () => {
    const setup = createSetup();
    for (const name of ['broken', 'revoked']) await setup.open(name);
    const databaseError = new ProblemError('database_unavailable', 'no');
    setup.judge('broken', databaseError);
    setup.judge('revoked');
    await assert.rejects(setup.listener.recheck(), ({ cause }: Error) => cause === databaseError);
    await setup.settled();
    assert.deepEqual([...setup.closed], [['revoked', closeCodes.unauthorized]]);
    assert.deepEqual(setup.checkedSessionIds, ['revoked']);
  });
});
