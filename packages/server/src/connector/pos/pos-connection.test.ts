// Tests a control connection whose POS does not read its answers or has lost its rights.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { closeCodes, ProblemError } from '@switchyard/contract';
import { createConcurrencyCounter } from '../../platform/index.ts';
import type { WebSocketConnection } from '../forwarding/websocket-connections.ts';
import type { Message } from '../nodes/backplane.ts';
import type { ClaimToken } from '../sessions/claim-token.ts';
import type { Revocation } from './end-revoked-sessions.ts';
import { openPosConnection } from './pos-connection.ts';

const tsn = 'AXIUM_DX8000-1';
const slowMs = 10_000;
const kib = 1024;

/** Creates a connection whose socket keeps all data until the test calls `read`. */
function sample(verify: (token: string) => Promise<unknown> = async () => ({})) {
  const queue: { data: string; sent: (() => void) | undefined }[] = [];
  const closings: [number, string][] = [];
  let heard: (data: Buffer, isBinary: boolean) => void = () => {};
  let news: (message: Message) => void = () => {};
  let isPaused = false;
  let time = 0;
  const peer: WebSocketConnection = {
    correlationId: 'c',
    kind: 'pos',
    send: (data, _isBinary, sent) => void queue.push({ data: data.toString(), sent }),
    buffered: () => queue.reduce((bytes, { data }) => bytes + data.length, 0),
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
    },
    close: (code, reason) => void closings.push([code, reason]),
    onMessage: (handler) => {
      heard = handler;
    },
    onClose: () => {},
  };
  const device = { physicalDeviceId: 'p', tsn };
  const renewals: [string, string][] = [];
  const released: (string | undefined)[][] = [];
  const connection = openPosConnection({
    peer,
    slowReaderMs: slowMs,
    token: 't',
    presentedCertificate: {},
    verify,
    claimDeadline: Number.MAX_SAFE_INTEGER,
    caller: { organizationId: 'o', clientId: 'k', expiresAt: Number.MAX_SAFE_INTEGER },
    claimLimit: createConcurrencyCounter({ perKey: 10, total: 10 }),
    claims: {
      status: async () => ({ tsn, online: true, claimed: false }),
      claim: async () => ({ device, sessionId: 's', sessionUrl: 'wss://n', expiresInMs: 1 }),
      watch: (_: unknown, handler: typeof news) => {
        news = handler;
        return () => {};
      },
      roleFault: async () => undefined,
      publishRenewedToken: (_: unknown, sessionId: string, { tokenId }: ClaimToken) => {
        renewals.push([sessionId, tokenId]);
      },
    },
    revoke: (lost: readonly Revocation[]) => {
      released.push(...lost.map(({ sessionId, reason }) => [sessionId, reason]));
    },
    posCallerOf: (caller: unknown) => ({ caller }),
    now: () => time,
    takeMessage: () => true,
    onFault: () => {},
    onError: (error: unknown) => assert.fail(String(error)),
  } as unknown as Parameters<typeof openPosConnection>[0]);
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  let requestCount = 0;
  return {
    peer,
    connection,
    closings,
    released,
    renewals,
    isPaused: () => isPaused,
    async say(message: object) {
      heard(Buffer.from(JSON.stringify(message)), false);
      await settled();
    },
    /** Sends requests while the server reads them. @returns the total number of requests */
    async ask(times: number) {
      for (
        let iteration = 0;
        iteration < times && !isPaused && closings.length === 0;
        iteration += 1
      ) {
        requestCount += 1;
        heard(
          Buffer.from(JSON.stringify({ type: 'status', requestId: `${requestCount}`, tsn })),
          false,
        );
        await settled();
      }
      return requestCount;
    },
    news: (message: Message) => news(message),
    read(most = Number.POSITIVE_INFINITY) {
      for (const { sent } of queue.splice(0, most)) sent?.();
    },
    at(now: number) {
      time = now;
      connection.tick(now);
    },
  };
}

describe('a point of sale that is looked at again', () => {
  const claim = { type: 'claim', requestId: '1', tsn };
  const refuses = (code: 'token_invalid' | 'token_expired' | 'database_unavailable') => () =>
    Promise.reject(new ProblemError(code, 'no'));

  it('loses its sessions with its token or its right, and not with a token that has run out', async () => {
    const rights = (names: readonly string[]) => async () => ({ permissions: new Set(names) });
    for (const [verify, code, sessions] of [
      [rights(['cc.pos']), undefined, []],
      [rights(['retail.use']), closeCodes.roleMissing, [['s', 'role_missing']]],
      [refuses('token_invalid'), closeCodes.unauthorized, [['s', 'unauthorized']]],
      [refuses('token_expired'), closeCodes.tokenExpired, []],
    ] as const) {
      const pos = sample(verify);
      await pos.say(claim);
      await pos.connection.recheck();
      assert.equal(pos.closings[0]?.[0], code);
      assert.deepEqual(pos.released, sessions);
    }
  });

  // Spec: NEXO-15
  it('keeps its sessions when the database is unavailable, and releases no session that has already ended', async () => {
    const unavailable = sample(refuses('database_unavailable'));
    await unavailable.say(claim);
    await assert.rejects(unavailable.connection.recheck(), { code: 'database_unavailable' });
    assert.deepEqual([unavailable.closings, unavailable.released], [[], []]);
    const ended = sample(refuses('token_invalid'));
    await ended.say(claim);
    ended.news({ kind: 'ended', sessionId: 's' });
    await ended.connection.recheck();
    assert.deepEqual(ended.released, []);
  });
});

describe('a point of sale that has shown another token', () => {
  const rights = { permissions: new Set(['cc.pos']), organizationId: 'o', clientId: 'k' };

  it('publishes the new token to the nodes of its devices at each check, because the nodes do not confirm it', async () => {
    const pos = sample(async (token) => ({ ...rights, tokenId: token }));
    await pos.say({ type: 'claim', requestId: '1', tsn });
    await pos.connection.recheck();
    assert.deepEqual(pos.renewals, [], 'its node knows the first one by the claim');
    await pos.say({ type: 'renewToken', token: 'next' });
    for (const times of [1, 2, 3]) {
      assert.deepEqual(pos.renewals, Array(times).fill(['s', 'next']));
      await pos.connection.recheck();
    }
    pos.news({ kind: 'ended', sessionId: 's' });
    pos.renewals.splice(0);
    await pos.connection.recheck();
    assert.deepEqual(pos.renewals, [], 'an ended one has no token');
  });
});

describe('a point of sale that is being looked at', () => {
  const claim = { type: 'claim', requestId: '1', tsn };
  const caller = { organizationId: 'o', clientId: 'k', permissions: new Set(['cc.pos']) };

  /** The check of the token `t` waits until the test revokes it; other tokens are valid. */
  function sampleWithPendingTokenCheck() {
    const { promise, reject } = Promise.withResolvers<never>();
    const pos = sample((token) => (token === 't' ? promise : Promise.resolve(caller)));
    return { pos, revoke: () => reject(new ProblemError('token_invalid', 'no')) };
  }

  it('is judged by the token that it shows then', async () => {
    const { pos, revoke } = sampleWithPendingTokenCheck();
    await pos.say(claim);
    const recheck = pos.connection.recheck();
    await pos.say({ type: 'renewToken', token: 'next' });
    revoke();
    await recheck;
    await pos.connection.recheck();
    assert.deepEqual([pos.closings, pos.released], [[], []]);
  });

  it('loses a session that it claims during the check', async () => {
    const { pos, revoke } = sampleWithPendingTokenCheck();
    const recheck = pos.connection.recheck();
    await pos.say(claim);
    revoke();
    await recheck;
    assert.equal(pos.closings[0]?.[0], closeCodes.unauthorized);
    assert.deepEqual(pos.released, [['s', 'unauthorized']]);
  });

  it('loses its sessions when it disconnects during the check, except sessions that have ended', async () => {
    for (const [isEnded, sessions] of [
      [false, [['s', 'unauthorized']]],
      [true, []],
    ] as const) {
      const { pos, revoke } = sampleWithPendingTokenCheck();
      await pos.say(claim);
      const recheck = pos.connection.recheck();
      if (isEnded) pos.news({ kind: 'ended', sessionId: 's' });
      pos.connection.close();
      revoke();
      await recheck;
      assert.deepEqual(pos.released, sessions);
    }
  });
});

describe('a point of sale that does not read its answers', () => {
  it('is not read any more, and the server disconnects it after ten seconds', async () => {
    const pos = sample();
    const answered = await pos.ask(100_000);
    assert.ok(pos.isPaused() && pos.peer.buffered() <= 300 * kib, `${pos.peer.buffered()}`);
    assert.ok(answered < 5_000, `${answered} answers lie in our memory`);
    pos.at(slowMs - 1);
    assert.deepEqual(pos.closings, []);
    pos.at(slowMs);
    pos.at(slowMs + 1);
    assert.deepEqual(pos.closings, [[closeCodes.slowConsumer, 'slow_consumer']]);
  });

  it('stays connected while it reads slowly, and the server reads it again once it has caught up', async () => {
    const pos = sample();
    await pos.ask(100_000);
    for (let second = 1; second <= 30; second += 1) {
      pos.read(10);
      pos.at(second * 1000);
    }
    assert.deepEqual([pos.closings, pos.isPaused()], [[], true]);
    pos.read();
    assert.equal(pos.isPaused(), false);
    const before = pos.peer.buffered();
    await pos.ask(1);
    assert.ok(pos.peer.buffered() > before, 'it is answered');
    pos.at(60_000);
    assert.deepEqual(pos.closings, []);
  });

  it('is disconnected at once when status messages would fill the memory of the server', async () => {
    const pos = sample();
    await pos.say({ type: 'claim', requestId: '1', tsn });
    for (let iteration = 0; iteration < 100_000; iteration += 1) {
      pos.news({ kind: 'status', online: true, claimed: true, lastSeenAt: iteration });
    }
    assert.deepEqual(pos.closings, [[closeCodes.slowConsumer, 'slow_consumer']]);
    assert.ok(pos.peer.buffered() <= 1024 * kib + 200, `${pos.peer.buffered()}`);
  });
});
