// The till and the terminal of the page, without a browser: what is paid, what is not, and what comes after a break.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { readMessage } from '@switchyard/nexo';
import { indentJson, jsonTokens } from '../src/screens/virtual-terminal/nexo/json-tokens.ts';
import { maxExchanges } from '../src/screens/virtual-terminal/nexo/point-of-sale/message-exchanges.ts';
import {
  contactlessLimit,
  passesLuhn,
  testCards,
} from '../src/screens/virtual-terminal/nexo/terminal/test-cards.ts';
import { fakePlatform, nexoStage, tsn, until } from './nexo.fixture.ts';

const euros = (amount: number) => ({ amount, currency: 'EUR' });

function open(t: TestContext, cloud = fakePlatform()) {
  const stage = nexoStage(cloud);
  t.after(() => stage.close());
  return stage;
}

describe('a payment from the point of sale of the page', () => {
  test('a contactless payment returns its receipt', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('mastercard', 'Tap');
    await stage.ended();
    const { ended, exchanges, running } = stage.till().view();
    assert.deepEqual([ended?.result, ended?.sum, running], ['Success', euros(1250), undefined]);
    assert.ok(ended?.receipt.some((line) => line.includes('APPROVED')));
    const { body = {} } = stage.cloud.sold[0] ?? {};
    assert.equal(body['entryMode'], 'ContactlessChip');
    assert.match(JSON.stringify(body['instrument']), /57115413330089010012D3012/);
    assert.equal(body['notAfter'], '2026-03-01T10:00:20.000Z');
    assert.equal(body['confirmWithinSeconds'], 120);
    assert.equal(stage.cloud.confirmed.size, 1);
    const [exchange] = exchanges;
    assert.deepEqual([exchange?.category, exchange?.status], ['Payment', 'Answered']);
    assert.equal(readMessage(exchange?.response ?? '').kind, 'Message');
    assert.equal(stage.terminal().panel.screen().state, 'Approved');
    assert.deepEqual(stage.faults, []);
  });

  test('a chip payment requires the PIN, which is not sent', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('visa', 'Insert');
    await stage.shows('Pin');
    stage.type('9876');
    const screen = stage.terminal().panel.screen();
    assert.equal(screen.state === 'Pin' && screen.triesLeft, 2);
    stage.type('1234');
    await stage.ended();
    assert.equal(stage.till().view().ended?.result, 'Success');
    const written =
      stage.terminalShelf().whole() + stage.tillShelf.whole() + stage.sentTexts.join('');
    const sold = JSON.stringify(stage.cloud.sold.map(({ body }) => body));
    for (const { number } of testCards) assert.equal(written.includes(number), false, 'a number');
    assert.equal((written + sold).includes('"1234"'), false);
    assert.match(sold, /9F3403410302/, 'the chip has verified it');
  });

  test('three wrong PINs end the payment without a sale', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('visa', 'Insert');
    await stage.shows('Pin');
    for (const wrong of ['1111', '2222', '3333']) stage.type(wrong);
    await stage.ended();
    const { result, condition, additional } = stage.till().view().ended ?? {};
    assert.deepEqual([result, condition, stage.cloud.sold.length], ['Failure', 'WrongPIN', 0]);
    assert.equal(additional, 'The PIN was wrong.');
  });

  test('above the contactless limit the chip is required, except for a mobile wallet', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    stage.till().pay(euros(5001));
    await stage.shows('Card');
    stage.present('mastercard', 'Tap');
    await until('it asks for the chip', () => {
      const screen = stage.terminal().panel.screen();
      return screen.state === 'Card' && screen.hint === 'Insert';
    });
    // The other ways do nothing now.
    stage.present('phone', 'Tap');
    stage.present('mastercard', 'Insert');
    await stage.shows('Pin');
    stage.type('1234');
    await stage.ended();
    assert.equal(stage.cloud.sold[0]?.body['entryMode'], 'ContactChip');
    stage.till().pay(euros(5001));
    await stage.shows('Card');
    stage.present('phone', 'Tap');
    await until('it is paid', () => stage.cloud.sold.length === 2);
    assert.deepEqual(
      [contactlessLimit(2), contactlessLimit(0), contactlessLimit(3)],
      [5_000, 5_000, 50_000],
    );
  });

  test('a keyed card number must have a correct check digit', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('visa', 'Key');
    await stage.shows('Number');
    stage.terminal().panel.press('Clear');
    stage.type('7');
    const screen = stage.terminal().panel.screen();
    assert.equal(screen.state === 'Number' && screen.isWrong, true);
    stage.terminal().panel.press('Clear');
    stage.type('1');
    await stage.ended();
    assert.equal(stage.cloud.sold[0]?.body['entryMode'], 'Keyed');
    assert.ok(testCards.every(({ number }) => passesLuhn(number)));
    assert.equal(passesLuhn('4111111111111112'), false);
  });

  test('a signed payment stays approved, and a payment without signature is reversed', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('signature', 'Insert');
    await stage.shows('Signature');
    stage.terminal().panel.sign();
    await stage.ended();
    assert.equal(stage.till().view().ended?.result, 'Success');
    assert.equal(stage.cloud.operations.length, 0);
    stage.till().pay(euros(1300));
    await stage.shows('Card');
    stage.present('stripe', 'Swipe');
    await stage.shows('Signature');
    stage.terminal().panel.press('Cancel');
    await stage.ended();
    assert.equal(stage.till().view().ended?.condition, 'Cancel');
    assert.deepEqual(
      stage.cloud.operations.map(({ verb, cancelReason }) => [verb, cancelReason]),
      [['cancel', 'Technical']],
    );
    assert.equal(stage.cloud.confirmed.size, 1, 'the first alone');
  });

  test('a payment that is confirmed too late is reported as not paid', async (t) => {
    const stage = open(t);
    stage.cloud.late();
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('mastercard', 'Tap');
    await stage.ended();
    const { result, condition } = stage.till().view().ended ?? {};
    assert.deepEqual([result, condition], ['Failure', 'Aborted']);
  });

  test('a declined payment reports the reason', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    stage.till().pay(euros(9051));
    await stage.shows('Card');
    stage.present('visa', 'Key');
    await stage.shows('Number');
    stage.terminal().panel.press('Ok');
    await stage.ended();
    const { result, condition, additional } = stage.till().view().ended ?? {};
    assert.deepEqual([result, condition, additional], ['Failure', 'Refusal', 'InsufficientFunds']);
  });

  test('a payment is reversed once by its identifier', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('mastercard', 'Tap');
    await stage.ended();
    const paid = stage.till().view().ended;
    assert.ok(paid?.transactionId !== undefined);
    stage.till().reverse(paid);
    stage.till().reverse(paid);
    await until('it is reversed', () => stage.till().view().ended?.service === 'Reversal');
    assert.equal(stage.till().view().ended?.result, 'Success');
    assert.equal(stage.cloud.operations.length, 1);
  });

  test('a reversal has its own identifier; a second reversal and an unreferenced refund are rejected', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('mastercard', 'Tap');
    await stage.ended();
    const [sold] = stage.cloud.sold;
    assert.ok(sold);
    const sendRequest = (ServiceID: string, category: string, body: object) =>
      stage.terminal().receive(
        JSON.stringify({
          SaleToPOIRequest: {
            MessageHeader: {
              MessageClass: 'Service',
              MessageCategory: category,
              MessageType: 'Request',
              ServiceID,
              SaleID: 'x',
              POIID: tsn,
              ProtocolVersion: '3.0',
            },
            [`${category}Request`]: body,
          },
        }),
      );
    const answerTo = async (ServiceID: string) => {
      const isIt = (text: string) => text.includes('Response"') && text.includes(`"${ServiceID}"`);
      await until(ServiceID, () => stage.sentTexts.some(isIt));
      return String(stage.sentTexts.find(isIt));
    };
    const { transactionId: TransactionID, createdAt: TimeStamp } = sold.transaction;
    const reversal = {
      OriginalPOITransaction: { POITransactionID: { TransactionID, TimeStamp } },
      ReversalReason: 'MerchantCancel',
    };
    sendRequest('R1', 'Reversal', reversal);
    assert.match(await answerTo('R1'), /"POIData":\{"POITransactionID":\{"TransactionID":"0200-1"/);
    Object.assign(sold.transaction, { state: 'Refunded' });
    sendRequest('R2', 'Reversal', reversal);
    assert.match(await answerTo('R2'), /refusalReason=already_refunded/);
    sendRequest('R3', 'Payment', {
      SaleData: { SaleTransactionID: { TransactionID: 'o', TimeStamp } },
      PaymentTransaction: { AmountsReq: { Currency: 'EUR', RequestedAmount: 5 } },
      PaymentData: { PaymentType: 'Refund' },
    });
    assert.match(await answerTo('R3'), /refusalReason=unreferenced_refund_not_supported/);
    assert.equal(stage.cloud.operations.length, 1);
  });
});

describe('an abort', () => {
  test('an abort before the card is read takes no money', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.till().abort();
    await stage.ended();
    const { result, condition } = stage.till().view().ended ?? {};
    assert.deepEqual([result, condition, stage.cloud.sold.length], ['Failure', 'Aborted', 0]);
    const abort = stage
      .till()
      .view()
      .exchanges.find(({ category }) => category === 'Abort');
    assert.equal(abort?.status, 'Taken');
  });

  test('an abort after the request to the platform is rejected, and the payment continues', async (t) => {
    const cloud = fakePlatform();
    const free = cloud.hold();
    const stage = open(t, cloud);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('mastercard', 'Tap');
    await until('it is at the platform', () => cloud.sold.length === 1);
    stage.till().abort();
    await until('it is rejected', () => stage.sentTexts.some((text) => text.includes('"Reject"')));
    free();
    await stage.ended();
    assert.equal(stage.till().view().ended?.result, 'Success');
  });
});

describe('after a break', () => {
  test('after a lost response the point of sale finds the payment, and money is taken once', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.cut();
    await until('the till asks', () => stage.till().view().running?.isAsking === true);
    stage.present('mastercard', 'Tap');
    await stage.shows('Approved');
    assert.equal(stage.till().view().ended, undefined);
    stage.mend();
    await stage.ended();
    assert.equal(stage.till().view().ended?.result, 'Success');
    assert.equal(stage.cloud.sold.length, 1);
    const requestCategories = stage
      .till()
      .view()
      .exchanges.map(({ category }) => category);
    assert.ok(requestCategories.includes('TransactionStatus'));
  });

  test('a reloaded page finds the approved sale', async (t) => {
    const cloud = fakePlatform();
    cloud.meet('Hangs');
    const stage = open(t, cloud);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('mastercard', 'Tap');
    await until('it is at the platform', () => cloud.sold.length === 1);
    stage.reload();
    assert.equal(stage.till().view().running?.isAsking, true, 'the till knows that it has begun');
    await stage.ended();
    assert.deepEqual(
      [stage.till().view().ended?.result, stage.till().view().ended?.sum, cloud.sold.length],
      ['Success', euros(1250), 1],
    );
  });

  test('a reload before the card is read takes no money', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.reload();
    await stage.ended();
    const { result, condition } = stage.till().view().ended ?? {};
    assert.deepEqual([result, condition, stage.cloud.sold.length], ['Failure', 'Aborted', 0]);
  });

  test('a reload before the signature reverses the sale', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('signature', 'Insert');
    await stage.shows('Signature');
    stage.reload();
    await stage.ended();
    assert.equal(stage.till().view().ended?.condition, 'Aborted');
    assert.deepEqual([stage.cloud.operations.length, stage.cloud.confirmed.size], [1, 0]);
  });

  test('closing the terminal during the signature reverses the sale', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('signature', 'Insert');
    await stage.shows('Signature');
    await stage.terminal().switchOff('Left');
    assert.deepEqual([stage.cloud.operations.length, stage.cloud.confirmed.size], [1, 0]);
  });

  test('a sale whose confirmation response was lost is refunded', async (t) => {
    const cloud = fakePlatform();
    const stage = open(t, cloud);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    cloud.loseConfirmations();
    stage.present('mastercard', 'Tap');
    await stage.ended();
    assert.equal(stage.till().view().ended?.condition, 'UnreachableHost');
    assert.deepEqual(
      cloud.operations.map(({ verb }) => verb),
      ['refund'],
    );
  });

  test('a lost response of the platform is queried', async (t) => {
    const cloud = fakePlatform();
    cloud.meet('AnswerLost');
    const stage = open(t, cloud);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('mastercard', 'Tap');
    await stage.ended();
    assert.deepEqual([stage.till().view().ended?.result, cloud.sold.length], ['Success', 1]);
  });

  test('a sale that did not arrive counts as not made after it expires', async (t) => {
    const cloud = fakePlatform();
    cloud.meet('NeverCame');
    const stage = open(t, cloud);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('mastercard', 'Tap');
    await stage.ended();
    const { result, condition } = stage.till().view().ended ?? {};
    assert.deepEqual([result, condition], ['Failure', 'UnreachableHost']);
    assert.equal(cloud.operations.length, 0);
  });

  test('the reversal of a sale with unknown outcome is repeated until the platform accepts it', async (t) => {
    const cloud = fakePlatform();
    cloud.meet('AnswerLost');
    cloud.setReachable(false);
    const stage = open(t, cloud);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('mastercard', 'Tap');
    await stage.shows('Declined');
    assert.equal(cloud.operations.length, 0);
    cloud.setReachable(true);
    await stage.terminal().sendUnsentReversals();
    await stage.terminal().sendUnsentReversals();
    assert.deepEqual(
      cloud.operations.map(({ verb, reversalReason }) => [verb, reversalReason]),
      [['cancel', 'Timeout']],
    );
  });

  test('a replaced terminal reverses the sale that the point of sale cannot query', async (t) => {
    const cloud = fakePlatform();
    const free = cloud.hold();
    const stage = open(t, cloud);
    await stage.shows('Idle');
    stage.till().pay(euros(1250));
    await stage.shows('Card');
    stage.present('mastercard', 'Tap');
    await until('it is at the platform', () => cloud.sold.length === 1);
    const switchingOff = stage.terminal().switchOff('Replaced');
    free();
    await switchingOff;
    assert.deepEqual(
      cloud.operations.map(({ verb }) => verb),
      ['cancel'],
    );
    assert.equal(stage.terminal().panel.screen().state, 'Off');
  });
});

describe('the terminal of the page', () => {
  test('it reports its status and the unsupported services', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    stage.till().diagnose();
    await until('it answers', () => stage.till().view().exchanges[0]?.status === 'Answered');
    assert.match(stage.till().view().exchanges[0]?.response ?? '', /"IsReachableFlag":true/);
    stage.till().askStatus();
    await until('it answers', () => stage.till().view().exchanges[0]?.status === 'Answered');
    assert.equal(stage.till().view().exchanges[0]?.condition, 'NotFound');
    for (let more = 0; more < maxExchanges; more += 1) stage.till().diagnose();
    await until('all are answered', () =>
      stage
        .till()
        .view()
        .exchanges.every(({ status }) => status === 'Answered'),
    );
    assert.equal(stage.till().view().exchanges.length, maxExchanges);
  });

  test('it rejects invalid messages', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    const header = {
      MessageClass: 'Service',
      MessageCategory: 'Payment',
      MessageType: 'Request',
      ServiceID: 'S1',
      SaleID: 'x',
      POIID: tsn,
      ProtocolVersion: '3.0',
    };
    const sale = { SaleTransactionID: { TransactionID: 'o', TimeStamp: '2026-03-01T10:00:00Z' } };
    const payment = (amounts: object, more: object = {}) =>
      JSON.stringify({
        SaleToPOIRequest: {
          MessageHeader: { ...header, ...more },
          PaymentRequest: { SaleData: sale, PaymentTransaction: { AmountsReq: amounts } },
        },
      });
    const deliver = (text: string) => stage.terminal().receive(text);
    const heard = (part: string) =>
      until(part, () => stage.sentTexts.some((text) => text.includes(part)));
    for (const text of ['', '{', '[]', '{"SaleToPOIRequest":{}}', '\u0000', '{"__proto__":{}}']) {
      deliver(text);
    }
    await heard('"EventToNotify":"Reject"');
    deliver(
      payment({ Currency: 'EUR', RequestedAmount: 5 }, { POIID: 'ANOTHER-1', ServiceID: 'S2' }),
    );
    await heard('"ErrorCondition":"UnavailableDevice"');
    deliver(payment({ Currency: 'EUR', RequestedAmount: -5 }, { ServiceID: 'S3' }));
    deliver(payment({ Currency: 'EUR', RequestedAmount: 5.001 }, { ServiceID: 'S4' }));
    deliver(payment({ Currency: 'XXX', RequestedAmount: 5 }, { ServiceID: 'S5' }));
    await heard('"ErrorCondition":"NotAllowed"');
    deliver(payment({ Currency: 'EUR', RequestedAmount: 5 }, { ServiceID: 'S6' }));
    await stage.shows('Card');
    deliver(payment({ Currency: 'EUR', RequestedAmount: 5 }, { ServiceID: 'S6' }));
    deliver(payment({ Currency: 'EUR', RequestedAmount: 5 }, { ServiceID: 'S7' }));
    await heard('"ErrorCondition":"Busy"');
    assert.equal(stage.cloud.sold.length, 0);
    assert.deepEqual(stage.faults, []);
  });

  test('the storage is limited to the latest services and responses', async (t) => {
    const stage = open(t);
    await stage.shows('Idle');
    for (let sale = 0; sale < 25; sale += 1) {
      stage.till().pay(euros(1000 + sale));
      await stage.shows('Card');
      stage.till().abort();
      await stage.ended();
    }
    const stored = JSON.parse(stage.terminalShelf().whole()) as {
      dialogue: { services: { answer?: unknown; dropped?: true }[] };
    };
    const { services } = stored.dialogue;
    assert.equal(services.filter(({ answer }) => answer !== undefined).length, 20);
    assert.equal(services.filter(({ dropped }) => dropped).length, 5);
  });
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
