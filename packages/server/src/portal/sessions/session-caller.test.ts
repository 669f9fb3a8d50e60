import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import {
  assertFrenchSpaces,
  assertTranslationsMatch,
} from '../../../test/support/translation-checks.ts';
import type { Caller } from '../../http/index.ts';
import { messageTexts } from '../pages/message-page.ts';
import { createSessionCaller } from './session-caller.ts';
import { portalsOf } from './session-view.ts';
import type { PortalSession, SessionActivity, Sessions } from './sessions.ts';

const origin = 'https://portal.test';
const cookie = `__Host-switchyard-session=${'a'.repeat(64)}`;

function requestWith(headers: Record<string, string>): FastifyRequest {
  const all = { cookie, 'sec-fetch-site': 'same-origin', ...headers };
  return { headers: all, raw: { headers: all }, host: 'portal.test' } as unknown as FastifyRequest;
}

function callersOf(activities: SessionActivity[]) {
  const session = { origin, tokens: { accessToken: 'token' } } as PortalSession;
  const caller = { organizationId: 'org', subject: 'ada' } as Caller;
  const use: Sessions['use'] = async (_at, activity) => {
    activities.push(activity);
    return session;
  };
  return createSessionCaller({
    sessions: { use } as Sessions,
    portalUrls: { origin, listOrigins: () => [origin], findSite: () => ({ origin }) },
    verifyToken: async () => caller,
  });
}

describe('the caller behind a cookie', () => {
  test('each request counts as activity once, also if a stream checks its caller again', async () => {
    const activities: SessionActivity[] = [];
    const callers = callersOf(activities);
    const stream = requestWith({ 'x-switchyard-portal': '1' });
    await callers.findCaller(stream);
    await callers.findCaller(stream);
    await callers.findCaller(requestWith({ 'x-switchyard-portal': '1' }));
    await callers.findCaller(requestWith({ 'x-switchyard-portal': 'background' }));
    assert.deepEqual(activities, ['active', 'background', 'active', 'background']);
  });

  test('the rate limit counts each user, and an unchanged caller is the same object', async () => {
    const callers = callersOf([]);
    const [first, second] = await Promise.all(
      [1, 2].map(() => callers.findCaller(requestWith({ 'x-switchyard-portal': '1' }))),
    );
    assert.equal(first?.limitKey, 'org ada');
    assert.equal(first, second);
  });
});

describe('small rules of the portal', () => {
  test('the pages have the same keys in each language, and every text is translated', () => {
    assertTranslationsMatch(messageTexts);
    assertFrenchSpaces(messageTexts.fr);
  });

  test('the portals of a user follow from organisation and permissions', () => {
    const may = (entityType: 'tenant' | 'merchant', ...names: 'svc.write'[]) => ({
      entityType,
      permissions: new Set(names),
    });
    assert.deepEqual(portalsOf('ServiceProvider', may('tenant')), ['provider-portal']);
    assert.deepEqual(portalsOf('Acquirer', may('tenant')), ['portal']);
    assert.deepEqual(portalsOf(undefined, may('tenant', 'svc.write')), [
      'portal',
      'provider-portal',
    ]);
    assert.deepEqual(portalsOf(undefined, may('merchant', 'svc.write')), ['portal']);
  });
});
