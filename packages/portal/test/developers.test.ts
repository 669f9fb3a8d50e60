// The small rules of the developers' screens: applications, webhooks, error codes, events, configuration.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Application, FeedItem } from '@switchyard/contract';
import { formDraft, requestBody, sectionFields } from '../src/components/forms/form-fields.ts';
import { errorAdviceOf, matchesErrorFilters } from '../src/screens/api-console/error-advice.ts';
import {
  applicationKindOf,
  applicationKinds,
  managingResource,
} from '../src/screens/applications/application-kinds.ts';
import {
  applicationInput,
  applicationSections,
  kindDraft,
  statusUpdate,
} from '../src/screens/applications/application-sections.ts';
import { tokenCommands } from '../src/screens/applications/token-commands.ts';
import { levelByApiName } from '../src/screens/configuration/configuration-levels.ts';
import {
  pointerText,
  shortValue,
  valueAt,
  withInheritedValues,
} from '../src/screens/configuration/json-pointers.ts';
import { eventSummary, subjectPath } from '../src/screens/events/read-events.ts';
import { endpointStatus } from '../src/screens/webhooks/endpoint-status.ts';
import { patternGroups, removeCoveredTypes } from '../src/screens/webhooks/event-patterns.ts';

const organizationId = '019823f0-5d2c-7a31-9a53-0c6f1f2e9b11';

const application = (facts: Partial<Application> = {}): Application => ({
  clientId: 'till-7',
  userDomainId: 'demo',
  organizationId,
  name: 'Till 7',
  type: 'Application',
  clientType: 'Confidential',
  securityFlows: ['ClientCredentials'],
  redirectUris: [],
  webOrigins: [],
  services: [],
  roles: [],
  entityId: organizationId,
  callbackError: 'Rfc6749',
  accessTokenType: 'JWT',
  status: 'Enabled',
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  ...facts,
});

describe('an application', () => {
  const fields = sectionFields(applicationSections({}, 'Confidential', true));

  test('the request of each kind is recognised as the same kind', () => {
    for (const kind of applicationKinds) {
      const draft = { ...formDraft(fields, undefined), ...kindDraft(kind), name: ' Till 7 ' };
      const input = applicationInput(kind, requestBody(fields, draft)) as Partial<Application>;
      assert.equal(input.name, 'Till 7');
      assert.equal(applicationKindOf(application(input)), kind, kind);
    }
  });

  test('a change of the status sends all other values unchanged', () => {
    const storedApplication = application({
      description: 'Counter',
      redirectUris: ['https://a.example/cb', 'https://b.example/cb'],
      webOrigins: ['https://a.example'],
      services: ['Loyalty'],
      roles: ['Merchant'],
      callbackError: 'HttpCode',
      accessTokenSeconds: 900,
      accessTokenAlgorithm: 'RS256',
      accessTokenType: 'at+jwt',
    });
    const { name, description, securityFlows, redirectUris, webOrigins } = storedApplication;
    const { services, roles, callbackError, accessTokenSeconds } = storedApplication;
    const { accessTokenAlgorithm, accessTokenType } = storedApplication;
    assert.deepEqual(statusUpdate(storedApplication, 'Disabled'), {
      type: 'Application',
      status: 'Disabled',
      name,
      description,
      securityFlows,
      redirectUris,
      webOrigins,
      services,
      roles,
      callbackError,
      accessTokenSeconds,
      accessTokenAlgorithm,
      accessTokenType,
    });
  });

  test('duplicate lines are sent once, and an invalid number is sent as text', () => {
    const body = requestBody(fields, {
      redirectUris: ' https://a.example \n\nhttps://a.example\nhttps://b.example',
      accessTokenSeconds: '5 minutes',
    });
    assert.equal(body['accessTokenSeconds'], '5 minutes');
    assert.deepEqual(body['redirectUris'], ['https://a.example', 'https://b.example']);
  });

  test('the client ID identifies applications that the platform created', () => {
    const id = '019823f0-5d2c-7b42-8c11-3f0a9d6e4c22';
    assert.equal(managingResource({ clientId: `device-${id}` }), 'devices');
    assert.equal(managingResource({ clientId: `pos-${id}` }), 'till');
    assert.equal(managingResource({ clientId: 'device-of-mine' }), undefined);
  });

  test('the token command contains no secret and quotes every value', () => {
    const addresses = {
      issuer: 'https://x/auth/realms/demo',
      token_endpoint: 'https://x/token',
      authorization_endpoint: 'https://x/auth',
      mtls_endpoint_aliases: { token_endpoint: 'https://x:9021/token' },
    };
    const redirectUris = ["https://a.example/'cb"];
    const securityFlows = ['ClientCredentials', 'AuthorizationCode', 'Password'] as const;
    const all = application({ securityFlows: [...securityFlows], redirectUris });
    const calls = tokenCommands(all, addresses, false);
    assert.deepEqual(
      calls.map(({ name }) => name),
      ['itself', 'code', 'password', 'device'],
    );
    assert.match(String(calls[0]?.text), /client_secret=<CLIENT_SECRET>/);
    assert.match(String(calls[1]?.text), /'redirect_uri=https:\/\/a\.example\/'\\''cb'/);
    const page = application({ clientType: 'Public', securityFlows: ['AuthorizationCode'] });
    const [code] = tokenCommands(page, addresses, false);
    assert.ok(code?.text.includes('code_challenge_method=S256'));
    assert.ok(!code?.text.includes('client_secret'));
    const [byCertificate] = tokenCommands(application(), addresses, true);
    assert.match(String(byCertificate?.text), /^curl 'https:\/\/x:9021\/token' .*--cert/s);
  });
});

describe('webhooks', () => {
  test('a group pattern replaces its single types', () => {
    const types = ['transaction.captured', 'transaction.refunded', 'qr.completed'];
    assert.deepEqual(patternGroups(types), [
      { group: 'transaction', items: ['transaction.*', ...types.slice(0, 2)] },
      { group: 'qr', items: ['qr.*', 'qr.completed'] },
    ]);
    assert.deepEqual(
      removeCoveredTypes(['transaction.captured', 'qr.completed', 'transaction.*']),
      ['qr.completed', 'transaction.*'],
    );
  });

  test('the endpoint status is the most severe condition', () => {
    const health = { failures: 3 };
    assert.equal(endpointStatus({ status: 'Enabled' }), 'Working');
    assert.equal(endpointStatus({ status: 'Enabled', health }), 'Failing');
    const restingUntil = '2026-01-01T00:00:00.000Z';
    assert.equal(
      endpointStatus({ status: 'Enabled', health: { ...health, restingUntil } }),
      'Resting',
    );
    for (const [disabledReason, storedApplication] of [
      ['Requested', 'Off'],
      ['Unverified', 'Unverified'],
      ['Gone', 'Gone'],
      ['Unreachable', 'Given'],
    ] as const) {
      assert.equal(
        endpointStatus({ status: 'Disabled', disabledReason, health }),
        storedApplication,
      );
    }
  });
});

describe('the error codes', () => {
  test('the advice for an unknown outcome is to read the status first', () => {
    const facts = { status: 409, retryable: false, outcome: 'NotProcessed' } as const;
    assert.equal(errorAdviceOf({ ...facts, outcome: 'Unknown', retryable: true }), 'readFirst');
    assert.equal(errorAdviceOf({ ...facts, retryable: true }), 'later');
    assert.equal(errorAdviceOf({ ...facts, status: 401 }), 'token');
    assert.equal(errorAdviceOf({ ...facts, status: 403 }), 'right');
    assert.equal(errorAdviceOf(facts), 'mend');
    const code = { ...facts, code: 'already_exists', title: 'It is there', help: 'Twice.' };
    assert.ok(matchesErrorFilters(code, { text: 'exists twice', status: '409' }));
    assert.ok(!matchesErrorFilters(code, { text: 'exists', outcome: 'Unknown' }));
  });
});

describe('events', () => {
  const item = (type: string, data: Record<string, unknown>): FeedItem => ({
    eventId: organizationId,
    position: 1,
    timestamp: '2026-01-01T00:00:00.000Z',
    type,
    data,
  });

  test('an event links to the screen of its object', () => {
    const payment = item('transaction.captured', { transactionId: 'p', state: 'Captured' });
    assert.equal(subjectPath(payment), '/payments/p');
    assert.equal(subjectPath(item('device.online', { physicalDeviceId: 'd' })), '/devices/d');
    assert.equal(subjectPath(item('merchant.created', { merchantId: 'm' })), undefined);
  });

  test('the summary of an event contains its identifying members', () => {
    const money = (amount: number, currency: string) => `${currency} ${amount}`;
    const data = { clientTransactionId: 'till-1', state: 'Captured', currency: 'EUR', sequence: 3 };
    const captured = item('transaction.captured', { ...data, amount: 1_050, saleAmount: 2_000 });
    assert.equal(eventSummary(captured, money), 'till-1 · Captured · EUR 1050');
    const declined = item('transaction.declined', {
      ...data,
      state: 'Declined',
      saleAmount: 9_051,
    });
    assert.equal(eventSummary(declined, money), 'till-1 · Declined · EUR 9051');
    assert.equal(eventSummary(item('device.online', { tsn: 'X-1', amount: 'much' }), money), 'X-1');
  });
});

describe('configuration', () => {
  test('JSON Pointers are resolved and displayed as text', () => {
    const values = { terminal: { 'a/b': { '~': [10, { x: 'y' }] } } };
    assert.equal(valueAt(values, '/terminal/a~1b/~0/1/x'), 'y');
    assert.equal(valueAt(values, '/terminal/toString'), undefined);
    assert.equal(valueAt(values, ''), values);
    assert.equal(pointerText('/terminal/a~1b/~0'), 'terminal › a/b › ~');
    assert.equal(shortValue({ a: 1 }), '{"a":1}');
    assert.ok(shortValue('x'.repeat(1_000)).length < 300);
  });

  test('lower levels require no values and show inherited values', () => {
    const schema = {
      type: 'object',
      required: ['currency', 'terminal'],
      properties: {
        currency: { type: 'string', description: 'ISO 4217.' },
        terminal: {
          type: 'object',
          required: ['kind'],
          properties: { kind: { type: 'string' }, list: { type: 'array' } },
        },
      },
    };
    const inherited = { currency: 'EUR', terminal: { list: ['x'] } };
    assert.deepEqual(
      withInheritedValues(schema, inherited, (value) => `Now: ${value}.`),
      {
        type: 'object',
        properties: {
          currency: { type: 'string', description: 'ISO 4217. Now: EUR.', examples: ['EUR'] },
          terminal: {
            type: 'object',
            properties: { kind: { type: 'string' }, list: { type: 'array' } },
          },
        },
      },
    );
  });

  test('the provider defaults have no URL', () => {
    assert.equal(levelByApiName('Service'), undefined);
    assert.equal(levelByApiName('LogicalDevice'), 'logical-devices');
  });
});
