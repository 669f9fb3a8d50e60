// Tests the errors of the token endpoint: the body of RFC 6749 and a 4xx status.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { defined, ProblemError } from '@switchyard/contract';
import { testDatabase } from '../../../../test/support/database/test-database.ts';
import {
  movableClock,
  openTestRealm,
  type TestRealm,
} from '../../../../test/support/identity/test-realm.ts';
import type { Database } from '../../../platform/index.ts';
import { defaultTokenLimits } from '../../infrastructure/oauth-endpoint-limits.ts';

type Client = { clientId: string; clientSecret: string };
type Call = {
  says: string;
  status: number;
  error: string;
  method?: 'GET' | 'PUT' | 'DELETE' | 'PATCH';
  contentType?: string;
  headers?: Record<string, string>;
  payload?: string;
};

const grant = 'grant_type=client_credentials';
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

function callsOf({ clientId, clientSecret }: Client): Call[] {
  const id = `client_id=${clientId}`;
  const secret = `client_secret=${clientSecret}`;
  const good = `${grant}&${id}&${secret}`;
  const invalid = { status: 400, error: 'invalid_request' };
  const unknownClient = { status: 401, error: 'invalid_client' };
  return [
    { says: 'nothing at all', payload: '', ...invalid },
    { says: 'no client', payload: grant, ...unknownClient },
    { says: 'no grant type', payload: `${id}&${secret}`, ...invalid },
    { says: 'no secret', payload: `${grant}&${id}`, ...unknownClient },
    { says: 'an empty secret', payload: `${grant}&${id}&client_secret=`, ...unknownClient },
    { says: 'a wrong secret', payload: `${grant}&${id}&client_secret=x`, ...unknownClient },
    {
      says: 'an unknown client',
      payload: `${grant}&client_id=x&client_secret=x`,
      ...unknownClient,
    },
    {
      says: 'a long client',
      payload: `${grant}&client_id=${'x'.repeat(9999)}&client_secret=x`,
      ...unknownClient,
    },
    { says: 'U+0000', payload: `${grant}&client_id=%00&client_secret=%00`, ...unknownClient },
    {
      says: 'a broken escape',
      payload: `${grant}&client_id=%ZZ&client_secret=%`,
      ...unknownClient,
    },
    {
      says: '__proto__',
      payload: `${grant}&client_id=__proto__&client_secret=x`,
      ...unknownClient,
    },
    { says: 'the grant twice', payload: `${good}&${grant}`, ...invalid },
    { says: 'the client twice', payload: `${good}&${id}`, ...invalid },
    { says: 'the secret twice', payload: `${good}&${secret}`, ...invalid },
    { says: 'the scope twice', payload: `${good}&scope=profile&scope=email`, ...invalid },
    {
      says: 'a form of members',
      payload: `${good}&client_id[a]=b&client_id[]=c`,
      status: 200,
      error: '',
    },
    {
      says: 'an unknown grant',
      payload: `grant_type=magic&${id}&${secret}`,
      status: 400,
      error: 'unsupported_grant_type',
    },
    {
      says: 'an inherited name',
      payload: `grant_type=toString&${id}&${secret}`,
      status: 400,
      error: 'unsupported_grant_type',
    },
    {
      says: 'an unknown scope',
      payload: `${good}&scope=root`,
      status: 400,
      error: 'invalid_scope',
    },
    {
      says: 'a malformed scope',
      payload: `${good}&scope=%22%0a`,
      status: 400,
      error: 'invalid_scope',
    },
    { says: 'a body of 64 KB', payload: `${good}&scope=${'x'.repeat(65_536)}`, ...invalid },
    {
      says: 'JSON',
      contentType: 'application/json',
      payload: '{"grant_type":"client_credentials"}',
      ...invalid,
    },
    {
      says: 'multipart',
      contentType: 'multipart/form-data; boundary=x',
      payload: '--x--',
      ...invalid,
    },
    {
      says: 'a nonsense type',
      contentType: ';;;',
      payload: good,
      status: 415,
      error: 'invalid_request',
    },
    {
      says: 'an unknown charset',
      contentType: 'application/x-www-form-urlencoded; charset=klingon',
      payload: good,
      status: 200,
      error: '',
    },
    {
      says: 'two ways to sign in',
      headers: { authorization: basic(`${clientId}:${clientSecret}`) },
      payload: good,
      ...invalid,
    },
    { says: 'bad base64', headers: { authorization: 'Basic !!!' }, payload: grant, ...invalid },
    {
      says: 'Basic without a colon',
      headers: { authorization: basic(clientId) },
      payload: grant,
      ...invalid,
    },
    {
      says: 'Basic that is no UTF-8',
      headers: { authorization: 'Basic /////w==' },
      payload: grant,
      ...invalid,
    },
    {
      says: 'Basic with a wrong secret',
      headers: { authorization: basic(`${clientId}:x`) },
      payload: grant,
      ...unknownClient,
    },
    {
      says: 'Basic of one, form of another',
      headers: { authorization: basic(`${clientId}:${clientSecret}`) },
      payload: `${grant}&client_id=x`,
      ...invalid,
    },
    { says: 'a bearer token', headers: { authorization: 'Bearer x' }, payload: grant, ...invalid },
    {
      says: 'a client assertion',
      payload: `${grant}&${id}&client_assertion=x&client_assertion_type=y`,
      ...unknownClient,
    },
    {
      says: 'a foreign origin',
      headers: { origin: 'https://shop.example' },
      payload: good,
      ...invalid,
    },
    { says: 'GET', method: 'GET', status: 405, error: 'invalid_request' },
    { says: 'PUT', method: 'PUT', payload: good, status: 405, error: 'invalid_request' },
    { says: 'DELETE', method: 'DELETE', status: 405, error: 'invalid_request' },
  ];
}

describe('the token endpoint refuses', () => {
  let realm: TestRealm;
  let client: Client;

  before(async () => {
    realm = await openTestRealm({ database: await testDatabase(), clock: movableClock() });
    client = await realm.createApplication();
  });
  after(() => realm.close());

  // Spec: ERR-9 PROB-5 IDENT-13
  test('every malformed call with its own status and word', async () => {
    for (const call of callsOf(client)) {
      const response = await realm.app.inject({
        method: call.method ?? 'POST',
        url: realm.tokenPath,
        headers: {
          'content-type': call.contentType ?? 'application/x-www-form-urlencoded',
          ...call.headers,
        },
        ...defined({ payload: call.payload }),
      });
      assert.equal(response.statusCode, call.status, `${call.says}: ${response.body}`);
      if (call.error === '') continue;
      const body = response.json();
      assert.equal(body.error, call.error, call.says);
      assert.equal(typeof body.error_description, 'string', call.says);
      assert.equal(response.headers['cache-control'], 'no-store', call.says);
      assert.match(String(response.headers['content-type']), /^application\/json/, call.says);
      assert.equal(response.body.includes(client.clientSecret), false, call.says);
      if (call.status === 401) {
        // RFC 6749, 5.2: only if the client used the header.
        const challenge = response.headers['www-authenticate'];
        if (call.headers?.['authorization'] === undefined) assert.equal(challenge, undefined);
        else assert.match(String(challenge), /^Basic realm="https:/, call.says);
      }
      if (call.status === 405) assert.equal(response.headers['allow'], 'POST, OPTIONS');
    }
  });

  test('a browser gets JSON as well', async () => {
    const form = {
      grant_type: 'magic',
      client_id: client.clientId,
      client_secret: client.clientSecret,
    };
    const { status, headers } = await realm.post(realm.tokenPath, form, { accept: 'text/html' });
    assert.equal(status, 400);
    assert.match(String(headers['content-type']), /^application\/json/);
  });

  test('an unknown realm answers 404, with any name', async () => {
    for (const name of ['unknown', '..%2f..%2fetc', '%00', 'A'.repeat(90), "x'--", '__proto__']) {
      for (const url of [
        `/oauth2/v1/${name}/token`,
        `/auth/realms/${name}/protocol/openid-connect/token`,
      ]) {
        const { status, body } = await realm.post(url, { grant_type: 'client_credentials' });
        assert.equal(status, 404, url);
        assert.equal(typeof body, 'object');
      }
    }
  });

  // Spec: APP-7
  test('a grant that the application does not have', async () => {
    const { clientId, clientSecret } = await realm.createApplication({
      securityFlows: ['AuthorizationCode'],
    });
    const { status, body } = await realm.post(realm.tokenPath, {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    });
    assert.equal(status, 400);
    assert.equal(body['error'], 'unauthorized_client');
  });

  test("another realm's client", async () => {
    const other = await openTestRealm({ database: await testDatabase(), clock: movableClock() });
    const { status, body } = await realm.post(realm.tokenPath, {
      grant_type: 'client_credentials',
      client_id: (await other.createApplication()).clientId,
      client_secret: client.clientSecret,
    });
    assert.equal(status, 401);
    assert.equal(body['error'], 'invalid_client');
    await other.close();
  });

  test('an endless body without waiting for its end', async () => {
    await realm.app.listen({ host: '127.0.0.1', port: 0 });
    const address = realm.app.server.address();
    assert.ok(typeof address === 'object' && address !== null);
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(address.port, '127.0.0.1');
      let text = '';
      socket.on('error', reject);
      socket.on('data', (chunk) => {
        text += chunk.toString();
        if (text.includes('\r\n\r\n')) socket.destroy();
      });
      socket.on('close', () => resolve(text));
      socket.write(
        `POST ${realm.tokenPath} HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\ntransfer-encoding: chunked\r\n\r\n`,
      );
      const chunk = `1000\r\n${'a'.repeat(4096)}\r\n`;
      for (let count = 0; count < 20; count += 1) socket.write(chunk);
    });
    assert.match(answer, /^HTTP\/1\.1 400 /);
  });
});

describe('while the database is away', () => {
  test('cached clients are served, others get 503', async () => {
    const clock = movableClock();
    const database = await testDatabase();
    let isAway = false;
    const flaky: Database = {
      ...database,
      query: async (text, values) => {
        if (isAway) throw new ProblemError('database_unavailable', 'Away.', { retryAfterMs: 1500 });
        return database.query(text, values);
      },
    };
    const realm = await openTestRealm({ database: flaky, clock });
    const [known, unknown] = [await realm.createApplication(), await realm.createApplication()];
    const requestToken = (client: Client, path = realm.tokenPath) =>
      realm.post(path, {
        grant_type: 'client_credentials',
        client_id: client.clientId,
        client_secret: client.clientSecret,
      });
    const token = await realm.getToken(known);
    await realm.identity.verifyToken(token);

    isAway = true;
    clock.advance(120_000);
    assert.equal((await requestToken(known)).status, 200);
    assert.equal((await realm.identity.verifyToken(token)).clientId, known.clientId);
    for (const answer of [
      await requestToken(unknown),
      await requestToken(known, '/oauth2/v1/elsewhere/token'),
    ]) {
      assert.equal(answer.status, 503);
      assert.equal(answer.headers['retry-after'], '2');
      assert.equal(answer.body['error'], 'temporarily_unavailable');
    }
    isAway = false;
    assert.equal((await requestToken(unknown)).status, 200);
    await realm.close();
  });
});

describe('the token endpoint is limited', () => {
  const limits = { ...defaultTokenLimits };

  async function statusesOf(realm: TestRealm, form: Record<string, string>, calls: number) {
    const answers = [];
    for (let call = 0; call < calls; call += 1)
      answers.push(await realm.post(realm.tokenPath, form));
    return answers;
  }

  test('per client, per address, and sooner for guesses', async () => {
    const cases = [
      { tokenLimits: { ...limits, clientPerMinute: 2 }, good: true, expected: [200, 200, 429] },
      { tokenLimits: { ...limits, addressPerMinute: 2 }, good: true, expected: [200, 200, 429] },
      { tokenLimits: { ...limits, failuresPerMinute: 2 }, good: false, expected: [401, 401, 429] },
    ];
    for (const { tokenLimits, good, expected } of cases) {
      const realm = await openTestRealm({
        database: await testDatabase(),
        clock: movableClock(),
        tokenLimits,
      });
      const { clientId, clientSecret } = await realm.createApplication();
      const answers = await statusesOf(
        realm,
        {
          grant_type: 'client_credentials',
          client_id: clientId,
          client_secret: good ? clientSecret : 'wrong',
        },
        3,
      );
      assert.deepEqual(
        answers.map(({ status }) => status),
        expected,
      );
      const last = answers.at(-1);
      assert.match(String(last?.headers['retry-after']), /^[1-9]\d?$/);
      assert.equal(last?.body['error'], 'temporarily_unavailable');
      await realm.close();
    }
  });
});
