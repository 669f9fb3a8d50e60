import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amountMax } from '@switchyard/money';
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { isErrorCode } from '../../errors.ts';
import { PhysicalDeviceInput } from '../provisioning/organization-tree.ts';
import { Problem } from '../values-and-problems/problem.ts';
import * as paymentSchemas from './index.ts';
import {
  CancelRequest,
  CaptureAllRequest,
  type CaptureMode,
  CaptureRequest,
  ProcessRequest,
  RefundByWebRequest,
  RefundRequest,
  type Transaction,
} from './index.ts';

const requests = {
  ProcessRequest,
  CaptureRequest,
  RefundRequest,
  CancelRequest,
  RefundByWebRequest,
  CaptureAllRequest,
};

const sale = {
  clientTransactionId: 'till-7:000123',
  amount: 1050,
  currency: 'EUR',
  entryMode: 'Keyed',
  instrument: { card: { number: '4111111111111111', expiryMonth: 3, expiryYear: 2030 } },
};

/** Yields every schema object inside a schema. */
function* schemasIn(schema: unknown): Generator<Record<string, unknown>> {
  if (typeof schema !== 'object' || schema === null) return;
  yield schema as Record<string, unknown>;
  for (const part of Object.values(schema)) yield* schemasIn(part);
}

test('every object that a client sends is closed, and every code of a schema is published', () => {
  for (const [name, schema] of Object.entries(requests)) {
    for (const part of schemasIn(schema)) {
      if (part['type'] === 'object' && 'properties' in part) {
        assert.equal(part['additionalProperties'], false, name);
      }
      for (const code of Object.values(part['x-codes'] ?? {})) {
        assert.ok(isErrorCode(String(code)), `${name} ${code}`);
      }
    }
  }
});

test('every member that a client sends is described', () => {
  for (const [name, schema] of Object.entries(requests)) {
    for (const [member, part] of Object.entries(schema.properties)) {
      assert.ok('description' in part || 'properties' in part, `${name}.${member}`);
    }
  }
});

test('words are words for the compiler, too', () => {
  const mode: CaptureMode = 'Deferred';
  const request: ProcessRequest = { ...sale, entryMode: 'Keyed', captureMode: mode };
  // This line stops compiling if any text becomes a valid state.
  const isNarrow: string extends Transaction['state'] ? false : true = true;
  assert.deepEqual([request.captureMode, isNarrow], ['Deferred', true]);
});

const accepts = (schema: keyof typeof requests, value: unknown) =>
  Compile(requests[schema]).Check(value);

test('a sale is accepted with each instrument, and not without one', () => {
  assert.ok(accepts('ProcessRequest', sale));
  const chip = { ...sale, entryMode: 'ContactChip', instrument: { emvData: '9F2701805A00' } };
  assert.ok(accepts('ProcessRequest', chip));
  assert.ok(accepts('ProcessRequest', { ...sale, instrument: { token: 'abc_DEF-1' } }));
  assert.ok(!accepts('ProcessRequest', { ...sale, instrument: {} }));
  for (const track2 of [
    '4111111111111111=30121010000',
    ';4111111111111111=30121010000?',
    '4111111111111111D30121010F',
  ]) {
    assert.ok(accepts('ProcessRequest', { ...sale, instrument: { track2 } }), track2);
  }
  for (const track2 of ['', '4111111111111111', `4111111111111111=3012${'1'.repeat(40)}`]) {
    assert.ok(!accepts('ProcessRequest', { ...sale, instrument: { track2 } }), track2);
  }
  const remote = { orderChannel: 'MailOrder', zipCode: 'SW1A 2AA' };
  for (const houseNumber of ['1', '10b', '10 bis', 'A12/3']) {
    assert.ok(accepts('ProcessRequest', { ...sale, ...remote, houseNumber }), houseNumber);
  }
  for (const houseNumber of ['', 'one', '1 ', '12345678901', '1_']) {
    assert.ok(!accepts('ProcessRequest', { ...sale, ...remote, houseNumber }), houseNumber);
  }
});

test('amounts are integers up to twelve digits, and zero only of a sale that may verify', () => {
  for (const amount of [-1, 1.5, amountMax + 1, '100', null, Number.NaN]) {
    assert.ok(!accepts('ProcessRequest', { ...sale, amount }), String(amount));
  }
  for (const amount of [0, 1, amountMax]) {
    assert.ok(accepts('ProcessRequest', { ...sale, amount }));
  }
  assert.ok(!accepts('CaptureRequest', { amount: 0 }));
});

test('identifiers of clients have their alphabet and their length', () => {
  const good = fc
    .stringMatching(/^[A-Za-z0-9._:-]{1,64}$/)
    .filter((id) => id !== '.' && id !== '..');
  fc.assert(
    fc.property(good, (id) => accepts('ProcessRequest', { ...sale, clientTransactionId: id })),
  );
  for (const id of ['...', '.a', '..a', 'a.', '-', '....', '..:']) {
    assert.ok(accepts('ProcessRequest', { ...sale, clientTransactionId: id }), id);
  }
  // Clients remove the path segments `.` and `..`, so they are not valid identifiers.
  for (const id of ['.', '..', '', 'a b', 'ä', 'a/b', 'a'.repeat(65), 7, 'a\n']) {
    assert.ok(!accepts('ProcessRequest', { ...sale, clientTransactionId: id }), String(id));
  }
});

test('an unknown member is rejected at every level', () => {
  const invalidBodies = [
    { ...sale, extra: 1 },
    { ...sale, instrument: { ...sale.instrument, extra: 1 } },
  ];
  for (const body of invalidBodies) assert.ok(!accepts('ProcessRequest', body));
  for (const name of ['CaptureRequest', 'RefundRequest', 'RefundByWebRequest'] as const) {
    assert.ok(accepts(name, {}), name);
    assert.ok(accepts(name, { amount: 5, clientOperationId: 'one' }), name);
    assert.ok(!accepts(name, { extra: 1 }), name);
  }
});

test('metadata has limits', () => {
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`k${index}`, 'v']));
  assert.ok(accepts('ProcessRequest', { ...sale, metadata: { table: '12' } }));
  for (const metadata of [many, { 'a b': 'v' }, { a: 1 }, { a: 'x'.repeat(257) }]) {
    assert.ok(!accepts('ProcessRequest', { ...sale, metadata }));
  }
});

test('a problem names a code of the list', () => {
  const problem = {
    type: 'https://example.org/errors/amount_zero',
    title: 'The amount is zero',
    status: 422,
    detail: 'amount: Must be at least 1.',
    instance: 'urn:uuid:019823f0-5d2c-7a31-9a53-0c6f1f2e9b11',
    code: 'amount_zero',
    requestId: 'r',
    outcome: 'NotProcessed',
    retryable: false,
  };
  assert.ok(Compile(Problem).Check(problem));
  assert.ok(!Compile(Problem).Check({ ...problem, code: 'something_else' }));
});

test('every serial number that a device can have may count its offline sales, and no other', () => {
  const isDevice = Compile(PhysicalDeviceInput);
  const isSale = Compile(ProcessRequest);
  const takes = (serialNumber: string) => {
    const device = { serialNumber, make: 'AXIUM', model: 'DX8000', family: 'axium' };
    const counted = { authorizedAt: '2026-03-01T12:30:00.000Z', authorizationCode: '9A01B2' };
    const offlineData = { ...counted, terminalSequence: 17, reason: 'NoConnection', serialNumber };
    return [
      isDevice.Check(device),
      isSale.Check({ ...sale, offlineTransaction: true, offlineData }),
    ];
  };
  for (const serial of ['10000001', 'aB3', 'AB.12_34', '.', 'x'.repeat(32)]) {
    assert.deepEqual(takes(serial), [true, true], serial);
  }
  for (const serial of ['', 'AB-12', 'A B', 'é', 'x'.repeat(33)]) {
    assert.deepEqual(takes(serial), [false, false], serial);
  }
});

// Spec: JSON-12
test('words of the payments are PascalCase, their members camelCase', () => {
  let words = 0;
  let members = 0;
  for (const [name, schema] of Object.entries(paymentSchemas)) {
    if (typeof schema !== 'object') continue;
    for (const { enum: listed, properties } of schemasIn(schema)) {
      for (const word of Array.isArray(listed) ? listed : []) {
        // An event name consists of its subject and a past participle.
        assert.match(String(word), /^(?:[A-Z][A-Za-z0-9]*|[a-z]+\.[a-z_]+)$/, name);
        words += 1;
      }
      for (const member of Object.keys(properties ?? {})) {
        assert.match(member, /^[a-z][A-Za-z0-9]*$/, name);
        members += 1;
      }
    }
  }
  assert.ok(words > 100 && members > 200, `${words} words, ${members} members`);
});
