// Tests CORS: which origins may call which endpoints, and that no other page reads a response.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  type OAuthTestRealm,
  openOAuthTestRealm,
} from '../../../../test/support/browser/oauth-test-realm.ts';
import { authUrl } from '../../../../test/support/identity/test-realm.ts';

const page = 'https://app.example';
const unknownOrigin = 'https://evil.example';

describe('pages of other origins', () => {
  let flow: OAuthTestRealm;
  let realmPath: string;

  before(async () => {
    flow = await openOAuthTestRealm({ webOrigins: [page] });
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
  const closedEndpoints = (): [string, string][] => [
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

  test('of registered applications pass the CORS preflight', async () => {
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

  // Spec: IDENT-5
  test('of unknown sites fail the preflight, and all origins fail it at other endpoints', async () => {
    const cases = [
      ...forPages().map((endpoint) => [...endpoint, unknownOrigin] as const),
      ...forPages().map((endpoint) => [...endpoint, 'null'] as const),
      ...closedEndpoints().map((endpoint) => [...endpoint, page] as const),
    ];
    for (const [method, url, origin] of cases) {
      const response = await preflight(url, method, origin);
      assert.equal(response.headers['access-control-allow-origin'], undefined, `${url} ${origin}`);
      const { headers } = await flow.realm.app.inject({
        method: method as 'GET',
        url,
        headers: { origin },
      });
      assert.equal(headers['access-control-allow-origin'], undefined, `${url} ${origin}`);
    }
  });

  test('of registered applications may read the responses', async () => {
    const { client, realm } = flow;
    for (const [method, url] of forPages()) {
      if (method === 'POST') continue;
      const { headers } = await realm.app.inject({ url, headers: { origin: page } });
      assert.equal(headers['access-control-allow-origin'], page, url);
      const plain = await realm.app.inject({ url });
      assert.equal(plain.headers['access-control-allow-origin'], undefined, url);
    }
    const code = await flow.requestCode();
    const form = {
      grant_type: 'authorization_code',
      client_id: client.clientId,
      client_secret: client.clientSecret,
      redirect_uri: 'https://shop.example/callback',
      code,
    };
    const foreign = await realm.post(realm.tokenPath, form, { origin: unknownOrigin });
    assert.deepEqual([foreign.status, foreign.body['error']], [400, 'invalid_request']);
    assert.equal(foreign.headers['access-control-allow-origin'], undefined);
    const { status, headers } = await realm.post(realm.tokenPath, form, { origin: page });
    assert.equal(status, 200);
    assert.equal(headers['access-control-allow-origin'], page);
  });

  test('do not include the platform’s own: the API reference gets a token for any application', async () => {
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
