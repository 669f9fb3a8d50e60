import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  type Country,
  type ErrorCodeList,
  errorCodes,
  groupPermissions,
  listErrorCodes,
  ProblemError,
  type RoleList,
  rolePermissions,
} from '@switchyard/contract';
import { highLoadLimits } from '../../test/support/high-load-limits.ts';
import { type Caller, createHttp, type Http } from '../http/index.ts';
import { createLog, systemIdGenerator } from '../platform/index.ts';
import { registerReferenceRoutes } from './index.ts';

/** Any valid token: this one carries no permission at all. */
const caller: Caller = {
  subject: '019823f0-5d2c-4a31-9a53-0c6f1f2e9b11',
  clientId: 'reader',
  realm: 'demo',
  organizationId: '019823f0-5d2c-7a31-9a53-0c6f1f2e9b12',
  entityType: 'tenant',
  entityId: '019823f0-5d2c-7a31-9a53-0c6f1f2e9b12',
  permissions: new Set(),
  expiresAt: Number.MAX_SAFE_INTEGER,
  tokenId: '019823f0-5d2c-7a31-9a53-0c6f1f2e9b13',
};

let http: Http;

before(async () => {
  const address = 'https://localhost:8443';
  http = await createHttp({
    settings: { host: '127.0.0.1', port: 0, baseUrl: address, authUrl: address },
    log: createLog({ logLevel: 'silent', instanceName: 'test' }, { write: () => true }),
    ids: systemIdGenerator,
    loadLimits: highLoadLimits,
    verifyToken: async (token) => {
      if (token === 'good') return caller;
      throw new ProblemError('token_invalid', 'The token is not valid.');
    },
    eagerSchemas: true,
  });
  registerReferenceRoutes(http.app);
  await http.app.ready();
});

after(() => http.close());

const getCodes = (headers: Record<string, string> = {}) =>
  http.app.inject({
    url: '/resources/v1/countries',
    headers: { authorization: 'Bearer good', ...headers },
  });

// Spec: CTRY-1 CTRY-2 REF-1 ERR-1 VER-1 LIST-2
test('the server returns all ISO 3166-1 countries as an array, sorted by code', async () => {
  const answer = await getCodes();
  assert.equal(answer.statusCode, 200);
  assert.match(String(answer.headers['content-type']), /^application\/json/);
  const countries: Country[] = answer.json();
  assert.equal(countries.length, 249);
  const codes = countries.map(({ code }) => code);
  assert.deepEqual(codes, codes.toSorted());
  assert.equal(new Set(codes).size, codes.length);
  for (const country of countries) {
    assert.deepEqual(Object.keys(country), ['code', 'display']);
    assert.match(country.code, /^[A-Z]{2}$/);
    assert.ok(country.display.length > 2, country.code);
  }
  assert.ok(!codes.includes('XK'));
  assert.deepEqual(
    countries.find(({ code }) => code === 'DE'),
    { code: 'DE', display: 'Germany' },
  );
});

test('a token is required, and no permission', async () => {
  const missing = await http.app.inject({ url: '/resources/v1/countries' });
  assert.equal(missing.statusCode, 401);
  assert.ok(missing.headers['www-authenticate']);
  assert.equal(missing.json().code, 'token_missing');
  assert.equal((await getCodes({ authorization: 'Bearer bad' })).json().code, 'token_invalid');
});

test('a list that the client has in its cache is not sent again', async () => {
  const first = await getCodes();
  const tag = String(first.headers['etag']);
  assert.match(tag, /^"[\w-]{22}"$/);
  assert.match(String(first.headers['cache-control']), /^private, max-age=\d+$/);
  for (const etag of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
    const again = await getCodes({ 'if-none-match': etag });
    assert.equal(again.statusCode, 304, etag);
    assert.equal(again.body, '');
    assert.equal(again.headers['etag'], tag);
  }
  assert.equal((await getCodes({ 'if-none-match': '"other"' })).statusCode, 200);
});

test('names follow Accept-Language, and each language has its own tag', async () => {
  const nameOf = async (language: string) => {
    const answer = await getCodes({ 'accept-language': language });
    const countries: Country[] = answer.json();
    const germany = countries.find(({ code }) => code === 'DE');
    return `${answer.headers['content-language']} ${germany?.display}`;
  };
  assert.equal(await nameOf('fr-FR,fr;q=0.9,en;q=0.8'), 'fr Allemagne');
  assert.equal(await nameOf('de, fr;q=0.4, en;q=0.7'), 'en Germany');
  assert.equal(await nameOf('fr;q=0'), 'en Germany');
  assert.equal(await nameOf('fr;q=x, ;;,'), 'en Germany');
  assert.equal(await nameOf('*'), 'en Germany');
  const french = await getCodes({ 'accept-language': 'fr' });
  assert.notEqual(french.headers['etag'], (await getCodes()).headers['etag']);
  assert.match(String(french.headers['vary']), /accept-language/i);
});

describe('public reference data', () => {
  const read = async (path: string) => {
    const answer = await http.app.inject({ url: `/resources/v1/${path}` });
    assert.equal(answer.statusCode, 200);
    return answer.json();
  };

  // Spec: LIST-12
  test('every error code is listed with its facts, without a token', async () => {
    const { items }: ErrorCodeList = await read('error-codes');
    assert.deepEqual(
      items.map(({ code }) => code),
      listErrorCodes(),
    );
    const entry = items.find(({ code }) => code === 'payload_too_large');
    assert.deepEqual(entry, { code: 'payload_too_large', ...errorCodes.payload_too_large });
  });

  // Spec: LIST-12
  test('every role and group is listed with its permissions', async () => {
    const { roles, groups }: RoleList = await read('roles');
    const till = roles.find(({ role }) => role === 'PointOfSaleTerminal');
    assert.deepEqual(till, {
      role: 'PointOfSaleTerminal',
      title: 'Point-of-sale Terminal',
      permissions: [...rolePermissions.PointOfSaleTerminal],
    });
    assert.deepEqual(
      groups.map(({ group }) => group),
      Object.keys(groupPermissions),
    );
  });
});
