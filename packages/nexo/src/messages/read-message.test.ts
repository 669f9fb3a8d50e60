import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyMessage, wireOf } from '../../test/random-messages.ts';
import { faultsMax, unknownMax } from '../limits.ts';
import type { Header } from './message.ts';
import { isMessage } from './message.ts';
import { readMessage } from './read-message.ts';

type Published = { source: string; unknown: string[]; message: Record<string, unknown> };
const published = (
  JSON.parse(readFileSync(new URL('../../vectors/messages.json', import.meta.url), 'utf8')) as {
    messages: Published[];
  }
).messages;

const header: Header = {
  ProtocolVersion: '3.0',
  MessageClass: 'Service',
  MessageCategory: 'Payment',
  MessageType: 'Request',
  ServiceID: '42',
  SaleID: 'till-3',
  POIID: 'terminal-1',
};
const saleData = { SaleTransactionID: { TransactionID: '1', TimeStamp: '2026-03-01T10:00:00Z' } };
const payment = {
  SaleData: saleData,
  PaymentTransaction: { AmountsReq: { Currency: 'EUR', RequestedAmount: 12.5 } },
};
const request = (body: unknown = payment, more: object = {}): string =>
  JSON.stringify({ SaleToPOIRequest: { MessageHeader: header, PaymentRequest: body, ...more } });
const response = (body: unknown): string =>
  JSON.stringify({
    SaleToPOIResponse: {
      MessageHeader: { ...header, MessageType: 'Response' },
      PaymentResponse: body,
    },
  });

function faultsOf(text: string): string[] {
  const reading = readMessage(text);
  assert.ok('faults' in reading, reading.kind);
  return reading.faults.map(({ pointer, problem }) => `${pointer} ${problem}`);
}

test('published sample messages are readable, and their unknown members are listed', () => {
  assert.ok(published.length >= 12);
  for (const { source, message, unknown } of published) {
    const reading = readMessage(JSON.stringify(message));
    assert.equal(reading.kind, 'Message', `${source} ${JSON.stringify(reading).slice(0, 300)}`);
    if (reading.kind === 'Message') assert.deepEqual(reading.unknown, unknown, source);
  }
});

test('any message of any kind is read to itself', () => {
  fc.assert(
    fc.property(anyMessage, (message) => {
      const reading = readMessage(JSON.stringify(wireOf(message)));
      assert.equal(reading.kind, 'Message', JSON.stringify(reading).slice(0, 400));
      if (reading.kind === 'Message') {
        assert.deepEqual(reading.message, JSON.parse(JSON.stringify(message)));
        assert.deepEqual(reading.unknown, []);
      }
    }),
    { numRuns: 300 },
  );
});

// Spec: NEXO-35
test('unknown members are kept at their position, at every level', () => {
  const text = JSON.stringify({
    SaleToPOIRequest: {
      MessageHeader: { ...header, Region: 'eu' },
      PaymentRequest: { ...payment, Loyalty9: { points: [1, 2] }, constructor: 'x' },
      Signature: { value: 'AAAA' },
    },
    trace: 7,
  });
  const reading = readMessage(text);
  assert.equal(reading.kind, 'Message');
  if (reading.kind !== 'Message' || !isMessage(reading.message, 'Payment', 'Request')) return;
  const { message } = reading;
  assert.equal((message.header as unknown as Record<string, unknown>)['Region'], 'eu');
  assert.deepEqual(Object.entries(message.body).slice(-2), [
    ['Loyalty9', { points: [1, 2] }],
    ['constructor', 'x'],
  ]);
  assert.deepEqual(message.more, { Signature: { value: 'AAAA' } });
  assert.deepEqual(message.outside, { trace: 7 });
  assert.deepEqual(reading.unknown, [
    '/trace',
    '/SaleToPOIRequest/MessageHeader/Region',
    '/SaleToPOIRequest/Signature',
    '/SaleToPOIRequest/PaymentRequest/Loyalty9',
    '/SaleToPOIRequest/PaymentRequest/constructor',
  ]);
  assert.equal(message.body.PaymentTransaction.AmountsReq.RequestedAmount, 12.5);
});

test('other forms of a value are put right: null, one for a list, a number for a text', () => {
  const reading = readMessage(
    response({
      Response: { Result: 'Success', ErrorCondition: null, AdditionalResponse: null },
      POIData: { POITransactionID: saleData.SaleTransactionID, POIReconciliationID: 1000 },
      PaymentReceipt: null,
      PaymentResult: {
        AuthenticationMethod: 'OnlinePIN',
        PaymentInstrumentData: {
          PaymentInstrumentType: 'Card',
          CardData: { EntryMode: 'ICC', CardCountryCode: 56 },
        },
      },
    }),
  );
  assert.equal(reading.kind, 'Message');
  if (reading.kind !== 'Message') return;
  assert.deepEqual(reading.message.body, {
    Response: { Result: 'Success' },
    POIData: { POITransactionID: saleData.SaleTransactionID, POIReconciliationID: '1000' },
    PaymentResult: {
      AuthenticationMethod: ['OnlinePIN'],
      PaymentInstrumentData: {
        PaymentInstrumentType: 'Card',
        CardData: { EntryMode: ['ICC'], CardCountryCode: '56' },
      },
    },
  });
});

test('values of open sets may grow, values that are acted upon may not', () => {
  const grown = readMessage(
    response({ Response: { Result: 'Failure', ErrorCondition: 'SolarStorm' } }),
  );
  assert.equal(grown.kind, 'Message');
  assert.deepEqual(grown.kind === 'Message' && grown.unknown, [
    '/SaleToPOIResponse/PaymentResponse/Response/ErrorCondition',
  ]);
  assert.deepEqual(faultsOf(response({ Response: { Result: 'Maybe' } })), [
    '/SaleToPOIResponse/PaymentResponse/Response/Result is not in its set',
  ]);
  assert.deepEqual(faultsOf(request({ ...payment, PaymentData: { PaymentType: 'Gift' } })), [
    '/SaleToPOIRequest/PaymentRequest/PaymentData/PaymentType is not in its set',
  ]);
});

test('amounts are numbers of few enough digits, and not negative', () => {
  const amount = (written: string): string[] => {
    const reading = readMessage(request().replace('12.5', written));
    return 'faults' in reading ? reading.faults.map(({ problem }) => problem) : [];
  };
  assert.deepEqual(amount('12.50'), []);
  assert.deepEqual(amount('0'), []);
  assert.deepEqual(amount('1250e-2'), []);
  assert.deepEqual(amount('9999999999.99'), []);
  assert.deepEqual(amount('-1'), ['must not be negative']);
  assert.deepEqual(amount('"12.50"'), ['must be a number']);
  assert.deepEqual(amount('12.500000000000000001'), ['has too many digits']);
  assert.deepEqual(amount('12345678901234567'), ['has too many digits']);
  assert.deepEqual(amount('1e21'), ['has too many digits']);
  assert.deepEqual(amount('1e-9'), ['has too many digits']);
  assert.deepEqual(amount('null'), []);
});

test('a header that fits neither its category nor its envelope makes a message faulty', () => {
  const headed = (change: object, envelope = 'SaleToPOIRequest'): string[] =>
    faultsOf(
      JSON.stringify({
        [envelope]: { MessageHeader: { ...header, ...change }, PaymentRequest: payment },
      }),
    ).map((fault) => fault.replace(/^\/SaleToPOI\w+\/MessageHeader\//, ''));
  assert.deepEqual(headed({ MessageClass: 'Device' }), [
    'MessageClass does not belong to the category',
  ]);
  assert.deepEqual(headed({ ServiceID: undefined }), ['ServiceID is missing']);
  assert.deepEqual(headed({}, 'SaleToPOIResponse'), [
    'MessageType does not belong to the envelope',
  ]);
  assert.ok(
    headed({ MessageType: 'Notification' })[0]?.includes('does not belong to the category'),
  );
  assert.ok(
    headed({ MessageType: 'Response' }).includes('MessageType does not belong to the envelope'),
  );
});

test('a message without a valid header has no recipient for a response', () => {
  for (const text of [
    '',
    'null',
    '[]',
    '{}',
    '{"SaleToPOIRequest":null}',
    '{"SaleToPOIRequest":{}}',
    '{"SaleToPOIRequest":{},"SaleToPOIResponse":{}}',
    request().replace('"till-3"', '""'),
    request().replace('"till-3"', '"till\\n3"'),
    request().replace('"42"', '"12345678901"'),
    request().replace('"Payment"', '"Parking"'),
    request().replace('"Payment"', '"constructor"'),
    request().replace('"SaleID"', '"POIID"'),
  ]) {
    const reading = readMessage(text);
    assert.equal(reading.kind, 'Unreadable', text);
    assert.ok('faults' in reading && reading.faults.length > 0);
  }
  assert.equal(readMessage(Buffer.from(request(), 'utf16le')).kind, 'Unreadable');
});

test('an invalid response has its result, if it is readable', () => {
  const reading = readMessage(response({ Response: { Result: 'Success' }, PaymentResult: 7 }));
  assert.equal(reading.kind, 'Faulty');
  assert.deepEqual(reading.kind === 'Faulty' && reading.response, { Result: 'Success' });
  const without = readMessage(response({ Response: 'fine', PaymentResult: {} }));
  assert.equal(without.kind === 'Faulty' && without.response, undefined);
});

test('faults and unknown members are named up to a limit, and never with a value', () => {
  const items = Array.from({ length: 100 }, () => ({ ItemID: 'secret-value' }));
  const faults = faultsOf(
    request({ ...payment, PaymentTransaction: { ...payment.PaymentTransaction, SaleItem: items } }),
  );
  assert.equal(faults.length, faultsMax);
  assert.ok(!faults.join().includes('secret-value'));
  const more = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`m${at}`, at]));
  const reading = readMessage(request({ ...payment, ...more }));
  assert.equal(reading.kind === 'Message' && reading.unknown.length, unknownMax);
  assert.equal(
    reading.kind === 'Message' && Object.keys(reading.message.body).length,
    Object.keys(payment).length + 300,
  );
});

test('every input gives a value and no exception', () => {
  const broken = fc
    .tuple(anyMessage, fc.nat(), fc.constantFrom('"', '}', '[', '0', '\\', 'null', '{"a":'))
    .map(([message, at, mark]) => {
      const text = JSON.stringify(wireOf(message));
      const index = at % text.length;
      return text.slice(0, index) + mark + text.slice(index + 1);
    });
  fc.assert(
    fc.property(fc.oneof(broken, fc.string(), fc.json()), (text) => {
      assert.ok(['Message', 'Protected', 'Faulty', 'Unreadable'].includes(readMessage(text).kind));
    }),
    { numRuns: 400 },
  );
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      assert.equal(readMessage(bytes).kind, 'Unreadable');
    }),
  );
});
