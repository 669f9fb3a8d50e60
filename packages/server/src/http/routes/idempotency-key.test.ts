// What becomes of a key: kept with its answer, let go of by a refusal, and left in doubt by a fault.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import Fastify, { type RouteHandlerMethod } from 'fastify';
import type { Caller } from '../authentication/caller.ts';
import { callerWith } from '../server/sample-server.fixture.ts';
import {
  type IdempotencyKeyRequest,
  type IdempotencyKeys,
  withIdempotency,
} from './idempotency-key.ts';
import type { RouteDeclaration } from './route-declaration.ts';

const facts = { operationId: 'make' } as RouteDeclaration;

/** Calls a route with a key store that records the steps of the key. */
async function sendWithKey(
  handler: RouteHandlerMethod,
  complete: () => Promise<void> = async () => {},
) {
  const steps: string[] = [];
  const step = (name: string) => async () => {
    steps.push(name);
    if (name === 'complete') await complete();
  };
  const key = { complete: step('complete'), release: step('release'), abandon: step('abandon') };
  const keys: IdempotencyKeys = { claim: async () => ({ state: 'Claimed', key: key }) };
  const app = Fastify();
  app.decorateRequest('caller', undefined);
  app.addHook('onRequest', async (request) => {
    request.caller = callerWith();
  });
  app.post('/', { config: { facts } }, withIdempotency(facts, handler, keys));
  const headers = { 'idempotency-key': 'k' };
  const { statusCode } = await app.inject({ method: 'POST', url: '/', headers });
  await app.close();
  return { steps, statusCode };
}

/** The request text and the caller id of the claimed key. */
async function claimedBy(caller: Caller) {
  const claims: IdempotencyKeyRequest[] = [];
  const keys: IdempotencyKeys = {
    async claim(claim) {
      claims.push(claim);
      return { state: 'Running' };
    },
  };
  const app = Fastify();
  app.decorateRequest('caller', undefined);
  app.addHook('onRequest', async (request) => {
    request.caller = caller;
  });
  app.post(
    '/',
    { config: { facts } },
    withIdempotency(facts, async () => ({}), keys),
  );
  const headers = { 'idempotency-key': 'k' };
  await app.inject({ method: 'POST', url: '/', headers });
  await app.close();
  return claims[0];
}

describe('a request with an idempotency key', () => {
  test('stores the response', async () => {
    const { steps, statusCode } = await sendWithKey(async (_request, reply) => {
      reply.code(201);
      return { made: true };
    });
    assert.deepEqual([steps, statusCode], [['complete'], 201]);
  });

  test('releases the key when nothing was processed', async () => {
    const { steps } = await sendWithKey(async () => {
      throw new ProblemError('already_exists', 'There is one.');
    });
    assert.deepEqual(steps, ['release']);
  });

  test('keeps the key claimed when the outcome is unknown', async () => {
    for (const fault of [
      new Error('the disk is full'),
      new ProblemError('internal_error', 'A fault.', { outcome: 'Unknown' }),
    ]) {
      const { steps } = await sendWithKey(async () => {
        throw fault;
      });
      assert.deepEqual(steps, ['abandon']);
    }
  });

  // Spec: IDEM-11
  test('differs with other permissions, but not with another order of them', async () => {
    const claim = await claimedBy(callerWith(['pay.read', 'prov.write']));
    const same = await claimedBy(callerWith(['prov.write', 'pay.read']));
    assert.deepEqual(same, claim);
    for (const other of [
      callerWith(['prov.write']),
      { ...callerWith(['pay.read', 'prov.write']), merchantId: 'm' },
      { ...callerWith(['pay.read', 'prov.write']), storeId: 's' },
      { ...callerWith(['pay.read', 'prov.write']), deviceId: 'd' },
      { ...callerWith(['pay.read', 'prov.write']), realm: 'other' },
    ]) {
      const differing = await claimedBy(other);
      assert.equal(differing?.callerId, claim?.callerId);
      assert.notEqual(differing?.requestText, claim?.requestText);
    }
  });

  test('belongs to a user or to an application, also when both have the same id', async () => {
    const claim = await claimedBy({ ...callerWith(), clientId: 'x' });
    const user = await claimedBy({ ...callerWith(), clientId: 'y', userId: 'x' });
    assert.notEqual(user?.callerId, claim?.callerId);
  });

  test('gets its response even when the response cannot be stored', async () => {
    const lost = async () => {
      throw new Error('the database is away');
    };
    const { statusCode } = await sendWithKey(async () => ({ made: true }), lost);
    assert.equal(statusCode, 200);
  });
});
