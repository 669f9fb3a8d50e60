// The till of the page, without a browser: what is paid, and what comes after a lost response.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { passesLuhn } from '@switchyard/contract';
import {
  type AnyMessage,
  answerHeader,
  isMessage,
  readMessage,
  writeMessage,
} from '@switchyard/nexo';
import { indentJson, jsonTokens } from '../src/screens/virtual-terminal/nexo/json-tokens.ts';
import {
  createPointOfSale,
  type DeliveryResult,
  type PointOfSaleView,
} from '../src/screens/virtual-terminal/nexo/point-of-sale.ts';
import { testCards } from '../src/screens/virtual-terminal/simulated-outcomes.ts';

const at = '2026-03-01T10:00:00.000Z';
const tsn = 'AXIUM_DX8000-10000001';
const attemptsMax = 100_000;

function messageOf(text: string): AnyMessage {
  const reading = readMessage(text);
  assert.ok(reading.kind === 'Message');
  return reading.message;
}

const answered = (request: AnyMessage, body: AnyMessage['body']): DeliveryResult => ({
  kind: 'Answered',
  text: writeMessage({ header: answerHeader(request.header), body } as AnyMessage),
});

const poiData = (TransactionID: string) => ({
  POITransactionID: { TransactionID, TimeStamp: at },
});

/** The response of a terminal to an approved payment or reversal. */
function approvalOf(request: AnyMessage): AnyMessage['body'] {
  const Response = { Result: 'Success' };
  if (isMessage(request, 'Reversal', 'Request')) {
    const { OriginalPOITransaction } = request.body;
    return { Response, POIData: poiData('0200-1'), OriginalPOITransaction };
  }
  assert.ok(isMessage(request, 'Payment', 'Request'));
  const OutputText = [{ Text: 'APPROVED' }];
  return {
    Response,
    SaleData: request.body.SaleData,
    POIData: poiData('0199-1'),
    PaymentResult: { AmountsResp: { Currency: 'EUR', AuthorizedAmount: 12.5 } },
    PaymentReceipt: [
      {
        DocumentQualifier: 'CustomerReceipt',
        OutputContent: { OutputFormat: 'Text', OutputText },
      },
    ],
  };
}

type Delivery = (request: AnyMessage) => DeliveryResult | Promise<DeliveryResult>;

function openTill(deliver: Delivery, texts = new Map<string, string>()) {
  let view: PointOfSaleView = { exchanges: [] };
  const faults: unknown[] = [];
  const till = createPointOfSale({
    tsn,
    saleId: 'page-1',
    send: async (text) => deliver(messageOf(text)),
    storage: {
      getItem: (name) => texts.get(name) ?? null,
      setItem: (name, text) => void texts.set(name, text),
    },
    onChange(next) {
      view = next;
    },
    onFault: (fault) => faults.push(fault),
    times: { statusEveryMs: 1 },
  });
  till.start();
  return {
    till,
    texts,
    view: () => view,
    async until(condition: string, check: (current: PointOfSaleView) => boolean): Promise<void> {
      for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
        if (check(view)) return;
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.fail(`never: ${condition} (${faults.join()})`);
    },
  };
}

const hasEnded = ({ ended }: PointOfSaleView) => ended !== undefined;
const sum = { amount: 1250, currency: 'EUR' };

test('a payment returns its receipt, and is reversed once by its identifier', async () => {
  const requests: AnyMessage[] = [];
  const { till, view, until } = openTill((request) => {
    requests.push(request);
    return answered(request, approvalOf(request));
  });
  till.pay(sum);
  await until('it is paid', hasEnded);
  const paid = view().ended;
  assert.deepEqual(
    [paid?.result, paid?.sum, paid?.transactionId, paid?.receipt],
    ['Success', sum, '0199-1', ['APPROVED']],
  );
  assert.equal(view().exchanges[0]?.status, 'Answered');
  assert.ok(paid);
  till.reverse(paid);
  till.reverse(paid);
  await until('it is reversed', ({ ended }) => ended?.service === 'Reversal');
  assert.deepEqual([view().ended?.result, view().ended?.transactionId], ['Success', '0199-1']);
  assert.equal(requests.filter((each) => isMessage(each, 'Reversal', 'Request')).length, 1);
  till.stop();
});

test('a message that the terminal did not receive ends the payment as not processed', async () => {
  const { till, view, until } = openTill(() => ({ kind: 'NotSent', fault: 'device_offline' }));
  till.pay(sum);
  await until('it has ended', hasEnded);
  assert.equal(view().ended?.result, 'NotProcessed');
  till.stop();
});

/** The response to a TransactionStatus request, with the response to an earlier request. */
function repeating(request: AnyMessage, earlier: AnyMessage): DeliveryResult {
  return answered(request, {
    Response: { Result: 'Success' },
    RepeatedMessageResponse: {
      MessageHeader: answerHeader(earlier.header),
      RepeatedResponseMessageBody: { PaymentResponse: approvalOf(earlier) },
    },
  } as never);
}

/** Loses the response of the payment, and repeats it with TransactionStatus. */
function losesResponse(): Delivery {
  let lost: AnyMessage | undefined;
  return (request) => {
    if (isMessage(request, 'Payment', 'Request')) {
      lost = request;
      return { kind: 'Unknown', fault: 'device_disconnected' };
    }
    assert.ok(isMessage(request, 'TransactionStatus', 'Request') && lost !== undefined);
    return repeating(request, lost);
  };
}

// Spec: NEXO-31
test('after a lost response the point of sale finds the payment', async () => {
  const { till, view, until } = openTill(losesResponse());
  till.pay(sum);
  await until('it has ended', hasEnded);
  assert.deepEqual([view().ended?.result, view().ended?.sum], ['Success', sum]);
  const categories = view().exchanges.map(({ category }) => category);
  assert.deepEqual(categories, ['TransactionStatus', 'Payment']);
  till.stop();
});

// Spec: NEXO-31
test('a reloaded page asks for the outcome of the payment', async () => {
  const deliver = losesResponse();
  const first = openTill((request) => {
    void deliver(request);
    return new Promise<DeliveryResult>(() => {});
  });
  first.till.pay(sum);
  await first.until('it waits', ({ exchanges }) => exchanges.length === 1);
  first.till.stop();
  const second = openTill(deliver, first.texts);
  assert.equal(second.view().running?.isAsking, true);
  await second.until('it has ended', hasEnded);
  assert.deepEqual([second.view().ended?.result, second.view().ended?.sum], ['Success', sum]);
  second.till.stop();
});

test('a reloaded page proves by the payment before that the terminal did not receive the next one', async () => {
  let answeredPayment: AnyMessage | undefined;
  const first = openTill((request) => {
    answeredPayment = request;
    return answered(request, approvalOf(request));
  });
  first.till.pay(sum);
  await first.until('it is paid', hasEnded);
  first.till.stop();
  const second = openTill((request) => {
    if (isMessage(request, 'Payment', 'Request'))
      return { kind: 'Unknown', fault: 'device_disconnected' };
    assert.ok(isMessage(request, 'TransactionStatus', 'Request') && answeredPayment !== undefined);
    const { ServiceID } = answeredPayment.header;
    return request.body.MessageReference?.ServiceID === ServiceID
      ? repeating(request, answeredPayment)
      : answered(request, { Response: { Result: 'Failure', ErrorCondition: 'NotFound' } });
  }, first.texts);
  second.till.pay(sum);
  await second.until('it has ended', hasEnded);
  assert.equal(second.view().ended?.result, 'NotProcessed');
  second.till.stop();
});

test('the test cards have a correct check digit', () => {
  assert.ok(testCards.every(({ number }) => passesLuhn(number)));
});

test('the JSON tokens together are the complete message', () => {
  const text = indentJson(
    JSON.stringify({ a: 'x "y": 1', n: -1.5e3, t: true, z: null, l: [1, 'false'], 'k"': '<b>' }),
  );
  const parts = jsonTokens(text);
  assert.equal(parts.map((part) => part.text).join(''), text);
  assert.equal(parts.filter(({ kind }) => kind === 'key').length, 6);
  assert.deepEqual(
    parts.filter(({ kind }) => kind === 'word').map((part) => part.text),
    ['true', 'null'],
  );
  assert.equal(indentJson('no JSON'), 'no JSON');
});
