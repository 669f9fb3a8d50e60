import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { bearerHeaders } from '../../../test/support/bearer-headers.ts';
import { callerWith, createSample } from '../server/sample-server.fixture.ts';
import { createRateLimits, defaultRatePolicies } from './rate-limits.ts';

/** The two headers are all that a limit does to a reply. */
function createReply() {
  const headers: Record<string, unknown> = {};
  const reply = {
    header(name: string, value: unknown) {
      headers[name] = value;
      return reply;
    },
  };
  return { headers, reply: reply as unknown as FastifyReply };
}

const isLimited = (error: unknown) =>
  error instanceof ProblemError && error.code === 'rate_limited';

describe('rate limits', () => {
  // Spec: LIM-7 LIST-3
  it('sends each client its remaining requests and rejects it at its limit', async () => {
    const applyLimit = createRateLimits({ tight: { windowSeconds: 60, limit: 2 } }).policy('tight');
    const { headers, reply } = createReply();
    applyLimit({ clientId: 'one' }, reply);
    assert.equal(headers['ratelimit-policy'], '"tight";q=2;w=60');
    assert.equal(headers['ratelimit'], '"tight";r=1;t=60');
    applyLimit({ clientId: 'one' }, reply);
    assert.throws(() => applyLimit({ clientId: 'one' }, reply), isLimited);
    assert.match(String(headers['ratelimit']), /^"tight";r=0;t=\d+$/);
    applyLimit({ clientId: 'other' }, reply);
    assert.equal(headers['ratelimit'], '"tight";r=1;t=60');
  });

  // Spec: LIST-4
  it('counts clients with the same id in two organisations separately', () => {
    const applyLimit = createRateLimits({ tight: { windowSeconds: 60, limit: 1 } }).policy('tight');
    const { headers, reply } = createReply();
    const caller = callerWith();
    applyLimit(caller, reply);
    assert.throws(() => applyLimit(caller, reply), isLimited);
    applyLimit({ ...caller, organizationId: 'other' }, reply);
    assert.match(String(headers['ratelimit']), /^"tight";r=0;t=\d+$/);
  });

  it('counts stores and devices of one client separately', async () => {
    const applyLimit = createRateLimits({
      tight: { windowSeconds: 60, limit: 100, storeLimit: 10, deviceLimit: 1 },
    }).policy('tight');
    const { headers, reply } = createReply();
    applyLimit({ clientId: 'one', storeId: 's1', deviceId: 'd1' }, reply);
    assert.match(String(headers['ratelimit']), /r=0/);
    assert.throws(
      () => applyLimit({ clientId: 'one', storeId: 's1', deviceId: 'd1' }, reply),
      isLimited,
    );
    applyLimit({ clientId: 'one', storeId: 's1', deviceId: 'd2' }, reply);
    applyLimit({ clientId: 'one', storeId: 's1' }, reply);
    assert.match(String(headers['ratelimit']), /r=6/);
  });

  it('resets the counts with the next window', async () => {
    const applyLimit = createRateLimits({ tight: { windowSeconds: 0.02, limit: 1 } }).policy(
      'tight',
    );
    const { reply } = createReply();
    applyLimit({ clientId: 'one' }, reply);
    const endMs = performance.now() + 30_000;
    for (;;) {
      try {
        applyLimit({ clientId: 'one' }, reply);
        break;
      } catch (error) {
        assert.ok(isLimited(error) && performance.now() < endMs);
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  });

  it('track a limited number of keys, and further keys share one counter', async () => {
    const applyLimit = createRateLimits({ tight: { windowSeconds: 60, limit: 3 } }, 2).policy(
      'tight',
    );
    const { reply } = createReply();
    applyLimit({ address: '192.0.2.1' }, reply);
    applyLimit({ address: '192.0.2.2' }, reply);
    for (const last of [3, 4, 5]) applyLimit({ address: `192.0.2.${last}` }, reply);
    assert.throws(() => applyLimit({ address: '192.0.2.6' }, reply), isLimited);
    applyLimit({ address: '192.0.2.1' }, reply);
  });

  // Spec: LIST-6
  it('allows each client, store and device at least 5,000 payments a second', () => {
    const { limit, storeLimit, deviceLimit, windowSeconds } = defaultRatePolicies.payments;
    for (const each of [limit, storeLimit, deviceLimit]) assert.ok(each / windowSeconds >= 5000);
    const applyLimit = createRateLimits().policy('payments');
    const { reply } = createReply();
    for (let call = 0; call < 5000; call += 1) applyLimit({ clientId: 'busy' }, reply);
  });

  it('rejects an unknown policy name', () => {
    assert.throws(() => createRateLimits().policy('paymenst'), RangeError);
  });

  // Spec: LIST-5
  it('verifies no more invalid tokens than the limit of an address', async () => {
    const sample = await createSample({
      rateLimits: { unauthenticated: { windowSeconds: 60, limit: 2 } },
    });
    try {
      const sendRequest = async (token: string | undefined, remoteAddress: string) => {
        const authorization = bearerHeaders(token);
        const url = '/sample/v1/things';
        return sample.app.inject({ url, remoteAddress, headers: authorization });
      };
      const codesOf = async (tokens: readonly (string | undefined)[], address: string) => {
        const codes: number[] = [];
        for (const token of tokens) codes.push((await sendRequest(token, address)).statusCode);
        return codes;
      };
      // A missing token and a missing permission are not failed authentications.
      assert.deepEqual(
        await codesOf([undefined, undefined, 'all', 'forged', 'expired'], '192.0.2.1'),
        [401, 401, 200, 401, 401],
      );
      const limited = await sendRequest('forged', '192.0.2.1');
      assert.equal(limited.statusCode, 429);
      assert.equal(limited.json().code, 'rate_limited');
      assert.match(String(limited.headers['retry-after']), /^(60|59)$/);
      assert.deepEqual(await codesOf(['new', 'all'], '192.0.2.1'), [429, 429]);
      assert.deepEqual(await codesOf(['known'], '192.0.2.1'), [200], 'found good before');
      assert.deepEqual(await codesOf(['forged', 'all'], '192.0.2.2'), [401, 200]);
    } finally {
      await sample.close();
    }
  });

  // Spec: LIST-5
  it('does not block an address for failures of untracked addresses', () => {
    const policies = { unauthenticated: { windowSeconds: 60, limit: 2 } };
    const { unauthenticatedByAddress } = createRateLimits(policies, 2);
    for (const last of [1, 2, 3, 4, 5, 6, 7]) {
      for (let count = 0; count < 3; count += 1)
        unauthenticatedByAddress.recordFailure(`192.0.2.${last}`);
    }
    assert.notEqual(unauthenticatedByAddress.waitMs('192.0.2.1'), undefined);
    assert.notEqual(unauthenticatedByAddress.waitMs('192.0.2.2'), undefined);
    assert.equal(
      unauthenticatedByAddress.waitMs('198.51.100.1'),
      undefined,
      'nothing of it came from there',
    );
  });

  it('still accepts sessions that were verified before', async () => {
    const bySession = async ({ headers }: FastifyRequest) => {
      if (headers.cookie === 'ended') throw new ProblemError('token_expired', 'It has ended.');
      return callerWith();
    };
    const sample = await createSample({
      rateLimits: { unauthenticated: { windowSeconds: 60, limit: 2 } },
      findSessionCaller: Object.assign(bySession, {
        isVerified: ({ headers }: FastifyRequest) => headers.cookie === 'known',
      }),
    });
    try {
      const statusOf = async (headers: Record<string, string>) =>
        (await sample.app.inject({ url: '/sample/v1/things', headers })).statusCode;
      assert.equal(await statusOf({ cookie: 'new' }), 200);
      assert.equal(await statusOf({ cookie: 'ended' }), 401);
      assert.equal(await statusOf({ cookie: 'ended' }), 401);
      assert.equal(await statusOf({ cookie: 'new' }), 429);
      assert.equal(await statusOf({ cookie: 'known' }), 200);
      const authorization = 'Bearer forged';
      assert.equal(await statusOf({ cookie: 'known', authorization }), 429, 'a token decides');
    } finally {
      await sample.close();
    }
  });

  it('answers with Retry-After, and counts public routes by address', async () => {
    const sample = await createSample({
      rateLimits: {
        payments: { windowSeconds: 60, limit: 1 },
        public: { windowSeconds: 60, limit: 1 },
      },
    });
    try {
      const sale = {
        method: 'POST',
        url: '/sample/v1/things',
        headers: { authorization: 'Bearer all' },
        payload: { name: 'cup', amount: 1 },
      } as const;
      const first = await sample.app.inject(sale);
      assert.equal(first.statusCode, 200);
      assert.equal(first.headers['ratelimit'], '"payments";r=0;t=60');
      const second = await sample.app.inject(sale);
      assert.equal(second.statusCode, 429);
      assert.equal(second.json().code, 'rate_limited');
      assert.equal(second.json().outcome, 'NotProcessed');
      assert.match(String(second.headers['retry-after']), /^(60|59)$/);
      const open = (remoteAddress: string) =>
        sample.app.inject({ url: '/sample/v1/fault', remoteAddress });
      assert.equal((await open('192.0.2.1')).statusCode, 500);
      assert.equal((await open('192.0.2.1')).statusCode, 429);
      assert.equal((await open('192.0.2.2')).statusCode, 500);
    } finally {
      await sample.close();
    }
  });
});
