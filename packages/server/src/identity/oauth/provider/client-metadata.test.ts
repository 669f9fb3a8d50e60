// Tests that oidc-provider accepts every application that application management accepts.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { ApplicationInput } from '@switchyard/contract';
import Provider from 'oidc-provider';
import { draftFaults, draftFromInput } from '../../clients/application-management/rules.ts';
import type { Application } from '../../clients/application-record.ts';
import { grants } from '../grants/grant-types.ts';
import { provideClients } from './client-metadata.ts';

function applicationOf(input: ApplicationInput, isPublic: boolean): Application {
  const draft = draftFromInput(input, isPublic);
  assert.deepEqual(draftFaults(draft, true), [], JSON.stringify(input));
  const organizationId = randomUUID();
  return {
    ...draft,
    organizationId,
    clientId: randomUUID(),
    serviceAccountId: randomUUID(),
    entityType: 'tenant',
    entityId: organizationId,
    roles: [],
    permissions: [],
    ...(isPublic ? {} : { secretHash: Buffer.alloc(32, 1) }),
  };
}

const code: ApplicationInput = { name: 'x', securityFlows: ['AuthorizationCode'] };
const webOrigins = ['https://shop.example'];

/** Every accepted kind of redirect URI, alone and combined. */
const inputs: [ApplicationInput, boolean][] = [
  [{ name: 'x' }, false],
  [{ name: 'x', type: 'CloudApiApplication' }, false],
  [{ name: 'x', securityFlows: ['Password'] }, true],
  [
    {
      name: 'x',
      securityFlows: ['Password', 'ClientCredentials', 'AuthorizationCode'],
      redirectUris: ['https://shop.example'],
      webOrigins,
    },
    false,
  ],
  [{ ...code, redirectUris: ['https://shop.example/cb'], webOrigins }, true],
  [{ ...code, redirectUris: ['https://localhost:8443/cb'], webOrigins }, false],
  [
    { ...code, redirectUris: ['http://localhost:3000/cb', 'http://127.0.0.1/cb'], webOrigins },
    true,
  ],
  [{ ...code, redirectUris: ['com.example.till:/cb'] }, true],
  [
    {
      ...code,
      redirectUris: ['com.example.till:/cb', 'https://shop.example/cb', 'http://[::1]:4000/cb'],
      webOrigins,
    },
    true,
  ],
];

test('every registered application becomes a client, which is created once', async () => {
  const provider = new Provider('https://localhost/auth/realms/test', {
    responseTypes: ['code'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    extraClientMetadata: { properties: ['web_origins', 'callback_error'] },
  });
  for (const { grantType } of grants) provider.registerGrantType(grantType, async () => {});
  const applications = new Map<string, Application>();
  provideClients(provider, async (clientId) => applications.get(clientId));
  for (const [input, isPublic] of inputs) {
    const application = applicationOf(input, isPublic);
    const { clientId } = application;
    applications.set(clientId, application);
    const client = await provider.Client.find(clientId);
    assert.equal(client?.clientId, clientId, JSON.stringify(input));
    assert.equal(client.clientAuthMethod, isPublic ? 'none' : 'client_secret_basic');
    assert.equal(await provider.Client.find(clientId), client);
    applications.set(clientId, { ...application });
    assert.notEqual(await provider.Client.find(clientId), client, 'it may have changed');
  }
  assert.equal(await provider.Client.find('unknown'), undefined);
});
