// Which members of a body are free text, and what is refused in them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ApplicationInput,
  MerchantInput,
  ProcessRequest,
  QrRequest,
  ServiceInput,
  ServicePackageInput,
  SignUpInput,
  UserInput,
  WebhookEndpointInput,
} from '@switchyard/contract';
import { createCardNumberCheck } from './card-numbers.ts';

const card = '4111 1111 1111 1111';

const pointerIn = (schema: unknown, value: unknown) =>
  createCardNumberCheck(schema)(value)?.pointer;

test('names and descriptions of users, applications, services, packages, webhooks and sign-ups are free text', () => {
  for (const [schema, members] of [
    [UserInput, ['username', 'givenName', 'familyName']],
    [ApplicationInput, ['name', 'description']],
    [ServiceInput, ['name', 'description']],
    [ServicePackageInput, ['name', 'description']],
    [WebhookEndpointInput, ['description']],
    [SignUpInput, ['organizationName', 'givenName', 'familyName']],
    [MerchantInput, ['name']],
  ] as const) {
    for (const member of members) {
      for (const text of [card, card.replaceAll(' ', ''), `Shop ${card.replaceAll(' ', '-')}`]) {
        assert.equal(pointerIn(schema, { [member]: text }), `/${member}`, `${member} ${text}`);
      }
      assert.equal(pointerIn(schema, { [member]: 'Till 12 of 4111' }), undefined, member);
    }
  }
});

test('text inside of objects, lists and labels is found, and no pointer repeats the number', () => {
  const text = (maxLength = 100) => ({ type: 'string', maxLength });
  const schema = {
    type: 'object',
    properties: {
      address: { anyOf: [{ type: 'null' }, { type: 'object', properties: { city: text() } }] },
      tags: { type: 'array', items: text() },
      labels: { type: 'object', patternProperties: { '^.{1,40}$': text() } },
    },
  };
  assert.equal(pointerIn(schema, { address: { city: card } }), '/address/city');
  assert.equal(pointerIn(schema, { tags: ['a', card] }), '/tags/1');
  assert.equal(pointerIn(schema, { labels: { region: card } }), '/labels/region');
  assert.equal(pointerIn(schema, { labels: { [card]: 'x' } }), '/labels');
  const tolerant = { ...schema, additionalProperties: true };
  assert.equal(pointerIn(tolerant, { tags: [card] }), undefined, 'its reader hides the number');
  for (const value of [null, 7, card, [], { address: null, tags: {}, labels: [card] }]) {
    assert.equal(pointerIn(schema, value), undefined);
  }
});

test('identifiers, enumerations, files and numbers are no free text', () => {
  const properties = {
    externalId: { type: 'string', maxLength: 64 },
    token: { type: 'string', maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' },
    kind: { type: 'string', maxLength: 64, enum: [card] },
    at: { type: 'string', maxLength: 64, format: 'date-time' },
    file: { type: 'string', maxLength: 100_000 },
  };
  for (const member of Object.keys(properties)) {
    assert.equal(pointerIn({ type: 'object', properties }, { [member]: card }), undefined, member);
  }
});

test('a member that has the name of a checked member of a payment is free text in other bodies', () => {
  const text = { type: 'string', maxLength: 100 };
  const metadata = { type: 'object', patternProperties: { '^.{1,40}$': text } };
  const properties = { order: text, metadata };
  const details = { type: 'object', properties };
  const schema = { type: 'object', properties: { ...properties, details } };
  assert.equal(pointerIn(schema, { order: card }), '/order');
  assert.equal(pointerIn(schema, { metadata: { note: card } }), '/metadata/note');
  assert.equal(pointerIn(schema, { details: { order: card } }), '/details/order');
  assert.equal(
    pointerIn(schema, { details: { metadata: { note: card } } }),
    '/details/metadata/note',
  );
  for (const payment of [ProcessRequest, QrRequest]) {
    const order = { orderDescription: card };
    assert.equal(pointerIn(payment, { order }), undefined, 'payments check their order themselves');
  }
});
