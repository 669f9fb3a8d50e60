// Scripts of pages elsewhere: which origins may call what, and that no other page reads an answer.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Flow, openFlow } from '../../../../test/flow.ts';
import { authUrl } from '../../../../test/identity.ts';

const page = 'https://app.example';
const stranger = 'https://evil.example';

describe('pages of other origins', () => {
  let flow: Flow;
  let realmPath: string;

  before(async () => {
    flow = await openFlow({ webOrigins: [page] });
    realmPath = `/auth/realms/${flow.realm.userDomainId}`;
  });
  after(() => flow.close());

  const forPages = (): [string, string][] => [
    ['POST', flow.realm.tokenPath],
    ['POST', `${flow.base}/token`],
    ['POST', `${flow.base}/revoke`],
    ['GET', `${flow.base}/userinfo`],
    ['GET', `${flow.base}/certs`],
    ['GET', `${realmPath}/.well-known/openid-configuration`],
  ];
  const forNobody = (): [string, string][] => [
    ['POST', `${flow.base}/token/introspect`],
    ['GET', `${flow.base}/auth`],
    ['GET', `${flow.base}/logout`],
    ['GET', realmPath],
  ];
  const preflight = (url: string, method: string, origin: string) =>
    flow.realm.app.inject({
      method: 'OPTIONS',
      url,
      headers: {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization',
      },
    });

  test('that the realm knows are told so when they ask first', async () => {
    for (const [method, url] of forPages()) {
      const { statusCode, headers } = await preflight(url, method, page);
      assert.equal(statusCode, 204, url);
      assert.equal(headers['access-control-allow-origin'], page, url);
      assert.ok(String(headers['access-control-allow-methods']).includes(method), url);
      assert.match(String(headers['access-control-allow-headers']), /authorization/);
      assert.equal(headers['access-control-allow-credentials'], undefined);
      assert.match(String(headers.vary), /Origin/);
    }
  });

  test('that it does not know hear nothing, and nobody at the other endpoints', async () => {
    const cases = [
      ...forPages().map((endpoint) => [...endpoint, stranger] as const),
      ...forPages().map((endpoint) => [...endpoint, 'null'] as const),
      ...forNobody().map((endpoint) => [...endpoint, page] as const),
    ];
    for (const [method, url, origin] of cases) {
      const asked = await preflight(url, method, origin);
      assert.equal(asked.headers['access-control-allow-origin'], undefined, `${url} ${origin}`);
      const { headers } = await flow.realm.app.inject({
        method: method as 'GET',
        url,
        headers: { origin },
      });
      assert.equal(headers['access-control-allow-origin'], undefined, `${url} ${origin}`);
    }
  });

  test('read the answers that are for them', async () => {
    const { client, realm } = flow;
    for (const [method, url] of forPages()) {
      if (method === 'POST') continue;
      const { headers } = await realm.app.inject({ url, headers: { origin: page } });
      assert.equal(headers['access-control-allow-origin'], page, url);
      const plain = await realm.app.inject({ url });
      assert.equal(plain.headers['access-control-allow-origin'], undefined, url);
    }
    const code = await flow.code();
    const form = {
      grant_type: 'authorization_code',
      client_id: client.clientId,
      client_secret: client.clientSecret,
      redirect_uri: 'https://shop.example/callback',
      code,
    };
    const foreign = await realm.post(realm.tokenPath, form, { origin: stranger });
    assert.deepEqual([foreign.status, foreign.body['error']], [400, 'invalid_request']);
    assert.equal(foreign.headers['access-control-allow-origin'], undefined);
    const { status, headers } = await realm.post(realm.tokenPath, form, { origin: page });
    assert.equal(status, 200);
    assert.equal(headers['access-control-allow-origin'], page);
  });

  test('is what our own are not: the API reference gets a token for any application', async () => {
    const { realm } = flow;
    const { clientId, clientSecret } = await realm.createApplication();
    const form = {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    };
    const post = (origin: string) => realm.post(realm.tokenPath, form, { origin });
    assert.equal((await post(authUrl)).status, 200);
    assert.equal((await post(`${authUrl}0`)).status, 400);
  });

  test('of one application do not act for another', async () => {
    const other = await flow.createClient({ webOrigins: ['https://other.example'] });
    const { status, headers } = await flow.realm.post(
      flow.realm.tokenPath,
      {
        grant_type: 'authorization_code',
        client_id: other.clientId,
        client_secret: other.clientSecret,
        redirect_uri: 'https://shop.example/callback',
        code: 'x',
      },
      { origin: page },
    );
    assert.equal(status, 400);
    assert.notEqual(headers['access-control-allow-origin'], 'https://other.example');
  });
});
