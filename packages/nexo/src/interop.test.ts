import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import * as library from '@adyen/api-library';
import { ObjectSerializer } from '@adyen/api-library/lib/src/typings/tapi/objectSerializer.js';
import fc from 'fast-check';
import { anyMessageOf, wireOf } from '../test/random-messages.ts';
import {
  type AnyMessage,
  answerTo,
  createPoiDialogue,
  createProtection,
  failureTo,
  isMessage,
  readMessage,
  type SharedKey,
  toMinorUnits,
} from './index.ts';
import { messageKinds } from './table/categories.ts';

const poiId = 'V400m-324688179';
const key: SharedKey = { identifier: 'store-7', version: 1, passphrase: 'correct horse battery' };
const securityKey = {
  AdyenCryptoVersion: 1,
  KeyIdentifier: key.identifier,
  KeyVersion: key.version,
  Passphrase: key.passphrase,
};
const header = {
  ProtocolVersion: '3.0',
  MessageClass: 'Service',
  MessageType: 'Request',
  SaleID: 'till-3',
  POIID: poiId,
};
const at = '2026-03-01T10:00:00.000Z';
const saleData = { SaleTransactionID: { TransactionID: '1', TimeStamp: at } };

/** A terminal made of this package; each text that comes is answered, or with nothing. */
function terminal() {
  const poi = createPoiDialogue({ poiId, now: () => Date.parse(at) });
  const protection = createProtection({ keys: [key], randomBytes });
  const amounts: number[] = [];

  function run(message: AnyMessage): AnyMessage | undefined {
    if (!isMessage(message, 'Payment', 'Request'))
      return failureTo(message, 'UnavailableService', { at });
    const { Currency, RequestedAmount = 0 } = message.body.PaymentTransaction.AmountsReq;
    amounts.push(toMinorUnits(RequestedAmount, Currency));
    return answerTo(message, {
      Response: { Result: 'Success' },
      SaleData: message.body.SaleData,
      POIData: { POITransactionID: { TransactionID: '99', TimeStamp: at } },
      PaymentResult: { AmountsResp: { Currency, AuthorizedAmount: RequestedAmount } },
    });
  }

  function answer(text: string): string {
    const reading = readMessage(text);
    assert.equal(reading.kind, 'Protected');
    assert.ok(reading.kind === 'Protected');
    const opened = protection.open(reading);
    if (opened.kind === 'Rejected') return '';
    const decision = poi.receive(opened, text);
    if (decision.do === 'Answer') return protection.protect(decision.message);
    if (decision.do !== 'Run') return '';
    const response = run(decision.message);
    if (response === undefined) return '';
    poi.finish(response);
    return protection.protect(response);
  }

  return { answer, amounts };
}

/** The public client, its HTTP replaced by a call of our terminal. */
function localClient(answer: (text: string) => string) {
  const http = { request: (_endpoint: string, json: string) => Promise.resolve(answer(json)) };
  const config = new library.Config({
    apiKey: 'unused',
    terminalApiLocalEndpoint: 'https://127.0.0.1',
    environment: library.EnvironmentEnum.TEST,
  } as never);
  const client = new library.Client(config);
  client.httpClient = http as never;
  return new library.TerminalLocalAPI(client);
}

test('the public client makes an encrypted payment on our terminal, and a repeat is rejected', async () => {
  const { answer, amounts } = terminal();
  const client = localClient(answer);
  const payment = {
    SaleToPOIRequest: {
      MessageHeader: { ...header, MessageCategory: 'Payment', ServiceID: '1' },
      PaymentRequest: {
        SaleData: saleData,
        PaymentTransaction: { AmountsReq: { Currency: 'EUR', RequestedAmount: 10.99 } },
      },
    },
  };
  const paid = (await client.request(payment as never, securityKey)).SaleToPOIResponse;
  assert.equal(paid?.MessageHeader.MessageType, 'Response');
  assert.equal(paid?.PaymentResponse?.Response.Result, 'Success');
  assert.equal(paid?.PaymentResponse?.PaymentResult?.AmountsResp?.AuthorizedAmount, 10.99);
  assert.deepEqual(amounts, [1099]);
  const status = {
    SaleToPOIRequest: {
      MessageHeader: { ...header, MessageCategory: 'TransactionStatus', ServiceID: '2' },
      TransactionStatusRequest: {
        MessageReference: { MessageCategory: 'Payment', ServiceID: '1', SaleID: 'till-3' },
      },
    },
  };
  const repeated = (await client.request(status as never, securityKey)).SaleToPOIResponse;
  const body = repeated?.TransactionStatusResponse?.RepeatedMessageResponse;
  assert.equal(body?.RepeatedResponseMessageBody.PaymentResponse?.Response.Result, 'Success');
  await client.request(payment as never, securityKey).catch(() => undefined);
  assert.deepEqual(amounts, [1099], 'the same ServiceID does not pay again');
});

test('the public library serializes our messages, and our reader reads the remaining values unchanged', () => {
  const unsupportedCategories = new Set([
    'CardReaderInit',
    'CardReaderPowerOff',
    'PIN',
    'Sound',
    'Transmit',
    'Batch',
    'Loyalty',
  ]);
  const kinds = messageKinds.filter(({ category }) => !unsupportedCategories.has(category));
  assert.equal(kinds.length, 37);
  let preserved = 0;
  let all = 0;
  fc.assert(
    fc.property(fc.constantFrom(...kinds).chain(anyMessageOf), (message) => {
      const wire = JSON.parse(JSON.stringify(wireOf(message))) as Record<string, unknown>;
      const isResponse = 'SaleToPOIResponse' in wire;
      const name = isResponse ? 'TerminalAPIResponse' : 'TerminalAPIRequest';
      const model = ObjectSerializer.deserialize(wire, name) as unknown;
      const libraryText = JSON.stringify(ObjectSerializer.serialize(model, name));
      const reading = readMessage(libraryText);
      assert.equal(reading.kind, 'Message', JSON.stringify(reading).slice(0, 300));
      if (reading.kind !== 'Message') return;
      assert.deepEqual(reading.message.header, message.header);
      // Its models drop what they do not know, and write times in UTC; what stays is unchanged.
      const whole: unknown = JSON.parse(JSON.stringify(message.body));
      assertPart(reading.message.body, whole, '');
      preserved += leavesIn(reading.message.body);
      all += leavesIn(whole);
    }),
    { numRuns: 200 },
  );
  assert.ok(preserved > all * 0.5, `${preserved} of ${all} values were kept`);
});

function leavesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, inner) => sum + leavesIn(inner), 0);
}

/** The whole contains all of the part, unchanged. */
function assertPart(part: unknown, whole: unknown, path: string): void {
  if (typeof part === 'object' && part !== null) {
    for (const [member, value] of Object.entries(part)) {
      const other: unknown = (whole as Record<string, unknown>)[member];
      assertPart(value, other, `${path}/${member}`);
    }
  } else if (typeof part === 'string' && /^\d{4}-\d\d-\d\d/.test(part)) {
    assert.equal(Date.parse(part), Date.parse(String(whole)), path);
  } else assert.deepEqual(part, whole, path);
}
