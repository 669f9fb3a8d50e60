import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Check } from 'typebox/value';
import { closeCodes, closingsOf, connectorFaults, connectorPaths } from '../index.ts';
import { asyncApiDocument, eventDefinitions, publicSchema } from './index.ts';

type Json = Record<string, unknown>;
type Message = {
  payload: { properties: { type: { const: string } } };
  examples: { payload: { type: string; data: unknown } }[];
};

const document = asyncApiDocument({ baseUrl: 'https://api.example/pay', version: '1.2.3' });

function at(path: string, from: Json = document): unknown {
  return path
    .slice(2)
    .split('/')
    .reduce<unknown>((value, name) => (value as Json | undefined)?.[name], from);
}

function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const ownReferences = '$ref' in value ? [String(value.$ref)] : [];
  return [...ownReferences, ...Object.values(value).flatMap(references)];
}

describe('the AsyncAPI document', () => {
  // Spec: LIST-16
  test('is whole: each reference leads somewhere, and each example fits its schema', () => {
    const all = references(document);
    assert.ok(all.length > eventDefinitions.size * 4);
    for (const one of all) assert.notEqual(at(one), undefined, one);
    for (const [type, { data }] of eventDefinitions) {
      const message = at(`#/components/messages/${type}`) as Message;
      assert.equal(message.payload.properties.type.const, type);
      const [example] = message.examples;
      assert.equal(example?.payload.type, type);
      assert.ok(Check(data, example?.payload.data), type);
    }
  });

  test('describes the webhooks and the feed with their addresses', () => {
    assert.equal(document['asyncapi'], '3.0.0');
    assert.deepEqual(at('#/servers/api/host'), 'api.example');
    assert.deepEqual(at('#/servers/api/pathname'), '/pay');
    assert.equal(at('#/channels/feed/address'), '/events/v1');
    // AsyncAPI 3 also allows null, but a linter does not.
    assert.equal(at('#/channels/endpoint/address'), undefined);
    assert.match(String(at('#/channels/qrPayment/address')), /\{qrTransactionId\}\/events$/);
    assert.notEqual(at('#/components/schemas/QrEvent/properties/sequence'), undefined);
    for (const name of ['deliverEvent', 'listEvents']) {
      const operation = at(`#/operations/${name}`) as { channel: Json; messages: Json[] };
      assert.equal(operation.messages.length, eventDefinitions.size);
      // AsyncAPI 3 requires that an operation uses only messages of its own channel.
      for (const one of operation.messages) {
        assert.ok(String(one['$ref']).startsWith(`${operation.channel['$ref']}/messages/`));
      }
    }
  });

  test('contains the addresses of the WebSockets, also for devices with certificates', () => {
    const deviceUrl = 'https://devices.example:9021';
    const whole = asyncApiDocument({ baseUrl: 'http://localhost/pay', deviceUrl, version: '1' });
    const { api: _api, ...servers } = whole['servers'] as Record<string, Json>;
    const servedAddresses = Object.values(servers).map(
      ({ description: _text, ...address }) => address,
    );
    assert.deepEqual(servedAddresses, [
      { host: 'localhost', pathname: '/pay', protocol: 'ws' },
      { host: 'devices.example:9021', protocol: 'wss' },
    ]);
    const listener = (asyncapi: Json) =>
      (asyncapi['channels'] as Record<string, Json>)['deviceListener'];
    assert.deepEqual(listener(whole)?.['servers'], [
      { $ref: '#/servers/sockets' },
      { $ref: '#/servers/deviceSockets' },
    ]);
    assert.deepEqual(listener(document)?.['servers'], [{ $ref: '#/servers/sockets' }]);
    assert.deepEqual(
      references(whole).filter((one) => at(one, whole) === undefined),
      [],
    );
    assert.equal(at('#/channels/posListener/address'), connectorPaths.posListener);
  });

  test('the messages and address parameters of an operation belong to its channel', () => {
    type Refs = readonly { readonly $ref: string }[];
    type Operation = {
      channel: Refs[0];
      messages: Refs;
      reply?: { channel: Refs[0]; messages: Refs };
    };
    for (const [name, one] of Object.entries(document['operations'] as Record<string, Operation>)) {
      for (const { channel, messages } of one.reply === undefined ? [one] : [one, one.reply]) {
        for (const { $ref } of messages) {
          assert.ok($ref.startsWith(`${channel?.$ref}/messages/`), `${name}: ${$ref}`);
        }
      }
    }
    for (const [name, { address, parameters = {} }] of Object.entries(
      document['channels'] as Record<string, { address: string | null; parameters?: Json }>,
    )) {
      const parts = [...(address ?? '').matchAll(/\{(\w+)\}/g)].map(([, part]) => part);
      assert.deepEqual(Object.keys(parameters), parts, name);
    }
  });

  test('a session requires a token when the platform uses bearer authentication for sessions', () => {
    const at = (sessionAuth: 'url' | 'bearer') => {
      const operations = asyncApiDocument({ baseUrl: 'https://x', version: '1', sessionAuth });
      return (operations['operations'] as Record<string, Json>)['receiveFromPos']?.['security'];
    };
    assert.deepEqual(at('url'), [{ $ref: '#/components/securitySchemes/sessionKey' }]);
    assert.deepEqual(at('bearer'), [{ $ref: '#/components/securitySchemes/posToken' }]);
  });

  test('each close code and each fault that ends a connection is listed once for a channel', () => {
    const channels = ['deviceListener', 'deviceConnection', 'posListener', 'session'] as const;
    const all = channels.flatMap((channel) => closingsOf(channel));
    for (const channel of channels) {
      const codes = closingsOf(channel).map(({ code }) => code);
      assert.deepEqual(codes, [...new Set(codes)].sort(), channel);
      assert.deepEqual(at(`#/channels/${channel}/x-close-codes`), closingsOf(channel));
    }
    const documentedCodes = new Set(all.map(({ code }) => code));
    for (const [name, code] of Object.entries(closeCodes))
      assert.ok(documentedCodes.has(code), name);
    const words = new Set(all.flatMap(({ reasons }) => reasons));
    for (const [word, fault] of Object.entries(connectorFaults)) {
      assert.equal(words.has(word), 'closeCode' in fault, word);
    }
  });

  test('contains no internal members, and is the same each time', () => {
    assert.ok(!JSON.stringify(document).includes('x-codes'));
    const again = asyncApiDocument({ baseUrl: 'https://api.example/pay', version: '1.2.3' });
    assert.deepEqual(again, document);
    const [first] = eventDefinitions.values();
    assert.ok(first !== undefined && !('x-codes' in publicSchema(first.data)));
  });
});
