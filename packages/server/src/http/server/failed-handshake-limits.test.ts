// The limit of failed WebSocket handshakes of an address, shared with its requests.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { WebSocket } from 'ws';
import type { HttpDeps } from './http-server.ts';
import { createSample } from './sample-server.fixture.ts';

const unauthenticated = { windowSeconds: 60, limit: 2 };

async function openSample(trustProxy?: readonly string[]) {
  const rateLimits = { unauthenticated };
  const baseUrl = 'https://localhost:8443';
  const settings = { host: '127.0.0.1', port: 0, baseUrl, authUrl: baseUrl, trustProxy };
  const sample = await createSample({ rateLimits, settings } satisfies Partial<HttpDeps>);
  const addresses: string[] = [];
  const facts = { maxMessageBytes: 1000, isOnDeviceListener: false };
  for (const bearer of ['required', 'optional', 'own'] as const) {
    sample.upgrades.add({
      ...facts,
      bearer,
      path: `/sample/${bearer}/:key`,
      isVerified: ({ key }) => key === 'live',
      async accept({ key, address }) {
        addresses.push(address);
        if (key === 'gone') throw new ProblemError('session_gone', 'It is gone.');
        if (key === 'bad') throw new ProblemError('token_invalid', 'No.');
        return { onOpen: (socket) => socket.close(1000) };
      },
    });
  }
  const { port } = await sample.listen();
  /** 101 where it is let in. */
  const open = (path: string, headers: Record<string, string> = {}) =>
    new Promise<number>((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/sample/${path}`, { headers });
      socket.on('upgrade', () => resolve(101));
      socket.on('unexpected-response', (_request, response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      socket.on('error', reject);
    });
  const sendRequest = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`http://127.0.0.1:${port}/sample/v1/things`, { headers });
    await response.body?.cancel();
    return response.status;
  };
  return { open, ask: sendRequest, seen: addresses, close: sample.close };
}

const withToken = (token: string) => ({ authorization: `Bearer ${token}` });

describe('handshakes with invalid tokens', () => {
  // Spec: LIST-5
  it('share the limit of failed authentications of an address with HTTP requests', async (t) => {
    const { open, ask: sendRequest, close } = await openSample();
    t.after(() => close());
    assert.equal(await open('required/a', withToken('all')), 101);
    assert.equal(await open('required/a', withToken('forged')), 401);
    assert.equal(await sendRequest('forged'), 401);
    assert.equal(await open('required/a', withToken('all')), 429);
    assert.equal(await open('optional/a', withToken('all')), 429);
    assert.equal(await open('optional/live', withToken('all')), 101);
    assert.equal(await open('optional/a'), 101, 'addresses are counted apart from tokens');
    assert.equal(await sendRequest('all'), 429);
    assert.equal(await open('required/a', withToken('known')), 101, 'found good before');
    assert.equal(await open('required/a'), 401, 'a handshake without a token is not counted');
  });

  // Spec: LIST-5
  it('with unknown session URLs have a limit of their own, above which a verified session is accepted', async (t) => {
    const { open, ask: sendRequest, close } = await openSample();
    t.after(() => close());
    for (let n = 0; n < 3; n += 1) assert.equal(await open('optional/gone', withToken('all')), 410);
    assert.equal(await open('optional/gone'), 410);
    assert.equal(await open('optional/a'), 101);
    assert.equal(await open('optional/gone'), 410);
    assert.equal(await open('optional/a'), 429);
    assert.equal(await open('optional/live'), 101);
    assert.equal(await open('required/a', withToken('all')), 101, 'tokens are looked at');
    assert.equal(await sendRequest('all'), 200);
  });

  it('do not block tokens that need no query, such as device tokens', async (t) => {
    const { open, close } = await openSample();
    t.after(() => close());
    for (let n = 0; n < 3; n += 1) assert.equal(await open('own/bad', withToken('x')), 401);
    assert.equal(await open('own/a', withToken('x')), 101);
    assert.equal(await open('required/a', withToken('all')), 101);
  });

  it('are counted for the address that a trusted proxy reports', async (t) => {
    const [behind, before] = [await openSample(['127.0.0.1', '10.0.0.0/8']), await openSample()];
    t.after(async () => {
      await behind.close();
      await before.close();
    });
    const forwardedHeaders = { 'x-forwarded-for': '203.0.113.9, 198.51.100.7, 10.1.2.3' };
    for (const { open } of [behind, before])
      assert.equal(await open('own/a', { ...withToken('x'), ...forwardedHeaders }), 101);
    assert.deepEqual([behind.seen, before.seen], [['198.51.100.7'], ['127.0.0.1']]);
    const from = (last: number) => ({
      ...withToken('forged'),
      'x-forwarded-for': `198.51.100.${last}`,
    });
    for (const status of [401, 401, 429])
      assert.equal(await behind.open('required/a', from(7)), status);
    assert.equal(await behind.open('required/a', from(8)), 401);
  });
});
