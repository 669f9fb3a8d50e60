import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Check } from 'typebox/value';
import { asyncApiDocument, eventDefinitions, publicSchema } from './index.ts';

type Json = Record<string, unknown>;
type Message = {
  payload: { properties: { type: { const: string } } };
  examples: { payload: { type: string; data: unknown } }[];
};

const document = asyncApiDocument({ baseUrl: 'https://api.example/pay', version: '1.2.3' });

function at(path: string): unknown {
  return path
    .slice(2)
    .split('/')
    .reduce<unknown>((value, name) => (value as Json | undefined)?.[name], document);
}

function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = '$ref' in value ? [String(value.$ref)] : [];
  return [...own, ...Object.values(value).flatMap(references)];
}

describe('the AsyncAPI document', () => {
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

  test('tells of both ways, and of where they are', () => {
    assert.equal(document['asyncapi'], '3.0.0');
    assert.deepEqual(at('#/servers/api/host'), 'api.example');
    assert.deepEqual(at('#/servers/api/pathname'), '/pay');
    assert.equal(at('#/channels/feed/address'), '/events/v1');
    assert.equal(at('#/channels/endpoint/address'), null);
    assert.match(String(at('#/channels/qrPayment/address')), /\{qrTransactionId\}\/events$/);
    assert.notEqual(at('#/components/schemas/QrEvent/properties/sequence'), undefined);
    for (const name of ['deliverEvent', 'listEvents']) {
      const operation = at(`#/operations/${name}`) as { channel: Json; messages: Json[] };
      assert.equal(operation.messages.length, eventDefinitions.size);
      // AsyncAPI 3: messages of an operation are those of its own channel.
      for (const one of operation.messages) {
        assert.ok(String(one['$ref']).startsWith(`${operation.channel['$ref']}/messages/`));
      }
    }
  });

  test('holds no marks of ours, and is the same each time', () => {
    assert.ok(!JSON.stringify(document).includes('x-codes'));
    const again = asyncApiDocument({ baseUrl: 'https://api.example/pay', version: '1.2.3' });
    assert.deepEqual(again, document);
    const [first] = eventDefinitions.values();
    assert.ok(first !== undefined && !('x-codes' in publicSchema(first.data)));
  });
});
