// An independent client over real TLS: discovery, token, introspection, revocation, signature by JWKS.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createRemoteJWKSet, customFetch, jwtVerify } from 'jose';
import * as openid from 'openid-client';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { freePorts } from '../../../test/support/free-ports.ts';
import { highLoadLimits } from '../../../test/support/high-load-limits.ts';
import { openTestRealm, type TestRealm } from '../../../test/support/identity/test-realm.ts';
import { createHttp, type Http } from '../../http/index.ts';
import {
  createLog,
  ensureListenerCertificate,
  systemClock,
  systemIdGenerator,
} from '../../platform/index.ts';

/** A `fetch` that trusts the local authority; the built-in one can only be configured for the whole process. */
function trustingFetch(agent: Agent) {
  return (url: string, init: { method?: string; headers?: object; body?: unknown }) =>
    new Promise<Response>((resolve, reject) => {
      const headers = Object.fromEntries(new Headers(init.headers as Record<string, string>));
      const sent = request(url, { agent, method: init.method ?? 'GET', headers }, (received) => {
        const chunks: Buffer[] = [];
        received.on('data', (chunk: Buffer) => chunks.push(chunk));
        received.on('error', reject);
        received.on('end', () => {
          const { statusCode: status = 0, headers: got } = received;
          const body = chunks.length === 0 ? null : Buffer.concat(chunks);
          const pairs = Object.entries(got).map(([name, value]) => [name, String(value)] as const);
          resolve(new Response(body, { status, headers: pairs.map(([a, b]) => [a, b]) }));
        });
      });
      sent.on('error', reject);
      sent.end(init.body === undefined || init.body === null ? '' : String(init.body));
    });
}

describe('openid-client over TLS', () => {
  let http: Http;
  let realm: TestRealm;
  let issuer: string;
  let fetchWithCa: ReturnType<typeof trustingFetch>;
  const dataDirs: string[] = [];
  const agents: Agent[] = [];

  before(async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-identity-'));
    dataDirs.push(dataDir);
    const host = '127.0.0.1';
    const [port = 0] = await freePorts(1);
    const authUrl = `https://localhost:${port}`;
    const { caFile, ...tls } = await ensureListenerCertificate({
      settings: { dataDir, host, tlsCertFile: undefined, tlsKeyFile: undefined },
      clock: systemClock,
    });
    realm = await openTestRealm({
      database: await testDatabase(),
      clock: systemClock,
      authUrl,
      async openApp({ verifyToken }) {
        http = await createHttp({
          settings: { host, port, baseUrl: authUrl, authUrl },
          tls,
          log: createLog({ logLevel: 'silent', instanceName: 'test' }),
          ids: systemIdGenerator,
          verifyToken,
          loadLimits: highLoadLimits,
        });
        return http.app;
      },
    });
    await http.listen();
    issuer = `${authUrl}/auth/realms/${realm.userDomainId}`;
    const agent = new Agent({ ca: await readFile(caFile), keepAlive: true });
    agents.push(agent);
    fetchWithCa = trustingFetch(agent);
  });
  after(async () => {
    for (const agent of agents) agent.destroy();
    await realm.close();
    for (const dataDir of dataDirs) await rm(dataDir, { recursive: true, force: true });
  });

  async function discover(auth: (secret: string) => openid.ClientAuth) {
    const { clientId, clientSecret } = await realm.createApplication();
    const configuration = await openid.discovery(
      new URL(issuer),
      clientId,
      clientSecret,
      auth(clientSecret),
      { [openid.customFetch]: fetchWithCa as openid.CustomFetch },
    );
    return { clientId, configuration };
  }

  test('finds the realm and gets a token, with the secret in the form or by Basic', async () => {
    for (const auth of [openid.ClientSecretPost, openid.ClientSecretBasic]) {
      const { clientId, configuration } = await discover(auth);
      const metadata = configuration.serverMetadata();
      assert.equal(metadata.issuer, issuer);
      assert.equal(metadata.token_endpoint, `${issuer}/protocol/openid-connect/token`);
      const tokens = await openid.clientCredentialsGrant(configuration);
      assert.equal(tokens.token_type, 'bearer');
      assert.ok(Number(tokens.expiresIn()) > 3540);

      const jwksUri = new URL(String(metadata.jwks_uri));
      const keys = createRemoteJWKSet(jwksUri, { [customFetch]: fetchWithCa });
      const { payload, protectedHeader } = await jwtVerify(tokens.access_token, keys, {
        issuer,
        audience: clientId,
        typ: 'JWT',
      });
      assert.equal(protectedHeader.alg, 'ES256');
      assert.equal(payload['user_domain'], realm.userDomainId);
      const caller = await realm.identity.verifyToken(tokens.access_token);
      assert.equal(caller.clientId, clientId);
    }
  });

  // Spec: IDENT-3
  test('introspects a token, revokes it, and finds it inactive', async () => {
    const { clientId, configuration } = await discover(openid.ClientSecretPost);
    const { access_token: token } = await openid.clientCredentialsGrant(configuration);
    const alive = await openid.tokenIntrospection(configuration, token);
    assert.equal(alive.active, true);
    assert.equal(alive.client_id, clientId);
    assert.deepEqual(alive['um_scope'], {
      entityId: realm.organizationId,
      entityType: 'tenant',
    });
    await openid.tokenRevocation(configuration, token);
    assert.deepEqual(await openid.tokenIntrospection(configuration, token), { active: false });
    await assert.rejects(realm.identity.verifyToken(token), /token_invalid/);
  });

  // Spec: IDENT-13
  test('gets errors in the form of OAuth', async () => {
    const { configuration } = await discover(() => openid.ClientSecretPost('wrong'));
    await assert.rejects(openid.clientCredentialsGrant(configuration), (error) => {
      // With a challenge in the response, the client library would not read the error code.
      return error instanceof openid.ResponseBodyError && error.error === 'invalid_client';
    });
    const { configuration: good } = await discover(openid.ClientSecretPost);
    await assert.rejects(
      openid.clientCredentialsGrant(good, { scope: 'root' }),
      (error) => error instanceof openid.ResponseBodyError && error.error === 'invalid_scope',
    );
  });

  test('the responses have the request id of the server', async () => {
    const headers = { 'x-request-id': 'mine-1' };
    const response = await fetchWithCa(`${issuer}/.well-known/openid-configuration`, { headers });
    assert.equal(response.headers.get('x-request-id'), 'mine-1');
    assert.equal(response.status, 200);
    const missing = await fetchWithCa(`${issuer}x/.well-known/openid-configuration`, {});
    assert.equal(missing.status, 404);
  });
});
