import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyMessage } from '../../test/random-messages.ts';
import { NexoError } from '../errors.ts';
import { messageBytesMax } from '../limits.ts';
import { passOnReason } from './additional-response.ts';
import { type Address, answerTo, failureTo, requestOf } from './build-message.ts';
import { type AnyMessage, isMessage } from './message.ts';
import { readMessage } from './read-message.ts';
import { findFaults, writeMessage } from './write-message.ts';

const address: Address = { saleId: 'till-3', poiId: 'terminal-1', serviceId: '42' };
const at = '2026-03-01T10:00:00.000Z';
const transaction = { TransactionID: '1', TimeStamp: at };
const payment = requestOf('Payment', address, {
  SaleData: { SaleTransactionID: transaction },
  PaymentTransaction: { AmountsReq: { Currency: 'EUR', RequestedAmount: 12.5 } },
});

function problems(message: AnyMessage): string[] {
  return findFaults(message).map(
    ({ pointer, problem }) => `${pointer.replace(/^\/\w+\//, '')} ${problem}`,
  );
}

test('a request is written as the protocol has it', () => {
  assert.equal(
    writeMessage(payment),
    '{"SaleToPOIRequest":{"MessageHeader":{"ProtocolVersion":"3.0","MessageClass":"Service",' +
      '"MessageCategory":"Payment","MessageType":"Request","ServiceID":"42","SaleID":"till-3",' +
      '"POIID":"terminal-1"},"PaymentRequest":{"SaleData":{"SaleTransactionID":{"TransactionID":' +
      '"1","TimeStamp":"2026-03-01T10:00:00.000Z"}},"PaymentTransaction":{"AmountsReq":' +
      '{"Currency":"EUR","RequestedAmount":12.5}}}}}',
  );
});

test('a read message is written again with its unknown members', () => {
  const text =
    '{"SaleToPOIRequest":{"MessageHeader":{"MessageClass":"Service","MessageCategory":"Admin",' +
    '"MessageType":"Request","ServiceID":"1","SaleID":"a","POIID":"b","X":1},"AdminRequest":' +
    '{"ServiceIdentification":"go","Y":[{}]},"Z":null},"W":2}';
  const reading = readMessage(text);
  assert.equal(reading.kind === 'Message' && writeMessage(reading.message), text);
});

test('a written message is read to itself, or was refused with a place', () => {
  let written = 0;
  fc.assert(
    fc.property(anyMessage, (message) => {
      const faults = findFaults(message);
      if (faults.length > 0) {
        assert.throws(() => writeMessage(message), NexoError);
        return;
      }
      written += 1;
      const reading = readMessage(writeMessage(message));
      assert.deepEqual(
        reading.kind === 'Message' && reading.message,
        JSON.parse(JSON.stringify(message)),
      );
    }),
    { numRuns: 200 },
  );
  assert.ok(written > 20, `${written} of 200 kept the rules`);
});

test('an error that the reader tolerates is rejected by the writer', () => {
  const card = { PaymentInstrumentType: 'Card', CardData: { EntryMode: 'ICC' } };
  const body = { ...payment.body, PaymentData: { PaymentInstrumentData: card } };
  assert.deepEqual(problems({ ...payment, body }), [
    'PaymentRequest/PaymentData/PaymentInstrumentData/CardData/EntryMode must be a list',
  ]);
  assert.deepEqual(problems({ ...payment, body: { ...payment.body, LoyaltyData: null } }), [
    'PaymentRequest/LoyaltyData must be a list',
  ]);
  const numbered = { ...payment.body, SaleData: { ...payment.body.SaleData, OperatorID: 7 } };
  assert.deepEqual(problems({ ...payment, body: numbered }), [
    'PaymentRequest/SaleData/OperatorID must be a text',
  ]);
});

test('the writer checks the rules between the members of a message', () => {
  const answer = (body: Record<string, unknown>): string[] =>
    problems({ header: { ...payment.header, MessageType: 'Response' }, body });
  assert.deepEqual(answer({ Response: { Result: 'Failure' } }), [
    'PaymentResponse/Response needs ErrorCondition',
  ]);
  assert.deepEqual(answer({ Response: { Result: 'Success' } }), ['PaymentResponse needs SaleData']);
  assert.deepEqual(answer({ Response: { Result: 'Failure', ErrorCondition: 'Refusal' } }), []);
  const event = (body: object): string[] =>
    problems(requestOf('Event', address, { TimeStamp: at, EventToNotify: 'Reject', ...body }));
  assert.equal(event({}).length, 1);
  assert.deepEqual(event({ RejectedMessage: 'AAAA' }), []);
  assert.equal(event({ EventToNotify: 'Completed', RejectedMessage: 'AAAA' }).length, 1);
  const output = (content: object): string[] =>
    problems(
      requestOf(
        'Display',
        { ...address, deviceId: '1' },
        {
          DisplayOutput: [
            {
              Device: 'CustomerDisplay',
              InfoQualify: 'Display',
              OutputContent: { OutputFormat: 'Text', ...content },
            },
          ],
        },
      ),
    );
  assert.deepEqual(output({}), ['DisplayRequest/DisplayOutput/0/OutputContent needs OutputText']);
  assert.deepEqual(output({ OutputText: [{ Text: 'Hello' }] }), []);
  const status = { Response: { Result: 'Success' as const } };
  const request = requestOf('TransactionStatus', address, {});
  assert.deepEqual(problems(answerTo(request, status)), [
    'TransactionStatusResponse needs RepeatedMessageResponse',
  ]);
  const enable = (body: object): string[] =>
    problems(
      requestOf('EnableService', address, { TransactionAction: 'StartTransaction', ...body }),
    );
  assert.equal(enable({}).length, 1);
  assert.deepEqual(enable({ ServicesEnabled: ['Payment'] }), []);
  const { ProtocolVersion: _, ...header } = requestOf('Diagnosis', address, {}).header;
  assert.deepEqual(problems({ header, body: {} }), ['MessageHeader/ProtocolVersion is missing']);
});

test('a message beyond the limit is not written, and no forbidden name', () => {
  const large = requestOf('Admin', address, { ServiceIdentification: 'a'.repeat(messageBytesMax) });
  assert.throws(
    () => writeMessage(large),
    (error) => error instanceof NexoError && error.code === 'message_too_large',
  );
  const body = JSON.parse('{"__proto__":{"Result":"Success"}}') as Record<string, unknown>;
  assert.throws(
    () => writeMessage({ ...large, body }),
    (error) => error instanceof NexoError && error.pointer?.endsWith('/__proto__') === true,
  );
  const half = requestOf('Admin', address, { ServiceIdentification: '\ud800' });
  assert.throws(() => writeMessage(half), NexoError);
});

test('every request has a failure that is well formed, faulty ones by their header alone', () => {
  fc.assert(
    fc.property(anyMessage, (message) => {
      if (message.header.MessageType !== 'Request') return;
      for (const request of [message, message.header]) {
        const failure = failureTo(request, 'Busy', {
          at,
          additional: passOnReason('x'),
          transactionId: '9',
        });
        if (message.header.MessageCategory === 'Abort') assert.equal(failure, undefined);
        else assert.deepEqual(failure && findFaults(failure), []);
      }
    }),
    { numRuns: 300 },
  );
});

test('a failure response repeats the header and the sale data of the request', () => {
  const failure = failureTo(payment, 'UnreachableHost', { at, transactionId: '99' });
  assert.deepEqual(failure?.header, { ...payment.header, MessageType: 'Response' });
  assert.ok(failure !== undefined && isMessage(failure, 'Payment', 'Response'));
  assert.deepEqual(failure.body.SaleData, payment.body.SaleData);
  assert.deepEqual(failure.body.POIData?.POITransactionID, { TransactionID: '99', TimeStamp: at });
});
