// Each of the 27 categories at the terminal: what it answers, or that it says nothing.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type AnyMessage,
  type Category,
  categories,
  isMessage,
  readMessage,
  referenceTo,
  requestOf,
  resultOf,
  type Structure,
} from '@switchyard/nexo';
import { openPinBlock, readKsn, readPinBlock, tdesWorkingKey } from '@switchyard/pin';
import { testCards } from '../cards/test-cards.ts';
import { address, at, keys, pay, poiId, quick, saleData, stage } from '../terminal.fixture.ts';

const hex = (text: string) => Buffer.from(text, 'hex').toString('base64');
const place = { Device: 'CustomerDisplay', InfoQualify: 'Display' };
const text = (...lines: string[]) => ({
  OutputFormat: 'Text',
  OutputText: lines.map((Text) => ({ Text })),
});
const giftCard = {
  IdentificationType: 'BarCode',
  StoredValueAccountType: 'GiftCard',
  StoredValueID: '42',
};
const member = { IdentificationType: 'BarCode', LoyaltyID: '7' };
const [card] = testCards;
assert.ok(card);
let devices = 0;

type Stage = ReturnType<typeof stage>;

/** A request of any category; device messages have an identification of their own. */
function asked(category: Category, body: object): AnyMessage {
  const { serviceId, ...to } = address();
  devices += 1;
  const isDevice = categories[category].class === 'Device';
  const ids = isDevice ? { ...to, deviceId: `D${devices}` } : { ...to, serviceId };
  return requestOf(category as 'Admin', ids, body as never) as AnyMessage;
}

async function answerTo(on: Stage, category: Category, body: object): Promise<AnyMessage> {
  const { first, texts } = await on.ask(asked(category, body));
  assert.ok(first, `${category} is answered`);
  assert.equal(texts.length, 1);
  assert.equal(first.header.MessageCategory, category);
  assert.equal(first.header.MessageType, 'Response');
  return first;
}

async function done(on: Stage, category: Category, body: object): Promise<AnyMessage['body']> {
  const answer = await answerTo(on, category, body);
  assert.equal(resultOf(answer)?.Result, 'Success', JSON.stringify(answer.body));
  return answer.body;
}

async function refused(on: Stage, category: Category, body: object): Promise<string | undefined> {
  const answer = await answerTo(on, category, body);
  assert.equal(resultOf(answer)?.Result, 'Failure', JSON.stringify(answer.body));
  return resultOf(answer)?.ErrorCondition;
}

const load = (type: string, ItemAmount: number) => ({
  SaleData: saleData,
  StoredValueData: [
    {
      StoredValueTransactionType: type,
      StoredValueAccountID: giftCard,
      ItemAmount,
      Currency: 'EUR',
    },
  ],
});

const award = (type: string, TotalAmount: number) => ({
  SaleData: saleData,
  LoyaltyTransaction: { LoyaltyTransactionType: type, TotalAmount },
  LoyaltyData: [{ LoyaltyAccountID: member }],
});

const inputOf = (InputCommand: string, more: object = {}) => ({
  InputData: { Device: 'CustomerInput', InfoQualify: 'Input', InputCommand, ...more },
});

const printOf = (...lines: string[]) => ({
  PrintOutput: {
    DocumentQualifier: 'Document',
    ResponseMode: 'PrintEnd',
    OutputContent: text(...lines),
  },
});

const screenOf = (on: Stage) => on.terminal().screen().lines.join(' ');
const printedBy = ({ told }: Stage) =>
  told.flatMap((each) => (each.type === 'Printed' ? [each.lines] : []));

async function paid(on: Stage, amount = 10): Promise<AnyMessage> {
  const payment = pay(amount);
  const { first } = await on.ask(payment);
  assert.ok(first && isMessage(first, 'Payment', 'Response'));
  assert.equal(first.body.Response.Result, 'Success');
  return { header: payment.header, body: first.body };
}

const transactionOf = ({ body }: AnyMessage) =>
  (body as Structure<'PaymentResponse'>).POIData?.POITransactionID;

const cases: Readonly<Record<Category, (on: Stage) => Promise<void>>> = {
  async Abort(on) {
    const { texts, first } = await on.ask(
      asked('Abort', { AbortReason: 'x', MessageReference: { MessageCategory: 'Payment' } }),
    );
    assert.equal(texts.length, 1, 'nothing runs that it could end, and it has no answer');
    assert.ok(first && isMessage(first, 'Event', 'Notification'));
    assert.equal(first.body.EventToNotify, 'Reject');
  },
  async Admin(on) {
    assert.equal(await refused(on, 'Admin', { ServiceIdentification: 'reprint' }), 'NotFound');
    await paid(on);
    await done(on, 'Admin', { ServiceIdentification: 'reprint' });
    const [original, copy] = printedBy(on);
    assert.match(copy?.[0] ?? '', /DUPLICATE/);
    assert.deepEqual(copy?.slice(1), original);
    assert.equal(
      await refused(on, 'Admin', { ServiceIdentification: 'other' }),
      'UnavailableService',
    );
  },
  async BalanceInquiry(on) {
    const of = {
      PaymentAccountReq: {
        PaymentInstrumentData: {
          PaymentInstrumentType: 'StoredValue',
          StoredValueAccountID: giftCard,
        },
      },
    };
    assert.equal(await refused(on, 'BalanceInquiry', of), 'NotFound');
    await done(on, 'StoredValue', load('Activate', 5));
    const { PaymentAccountStatus } = await done(on, 'BalanceInquiry', of);
    assert.deepEqual(PaymentAccountStatus, { CurrentBalance: 5, Currency: 'EUR' });
    await done(on, 'Loyalty', award('Award', 10));
    const points = await done(on, 'BalanceInquiry', {
      LoyaltyAccountReq: { LoyaltyAccountID: member },
    });
    const { CurrentBalance } = points['LoyaltyAccountStatus'] as { CurrentBalance: number };
    assert.equal(CurrentBalance, 10);
  },
  async Batch(on) {
    on.fake.next('Approves', 'Declines');
    const { PerformedTransaction } = await done(on, 'Batch', {
      TransactionToPerform: [{ PaymentRequest: pay(1).body }, { PaymentRequest: pay(2).body }],
    });
    const results = (PerformedTransaction as Structure<'PerformedTransaction'>[]).map(
      ({ Response }) => Response.ErrorCondition ?? Response.Result,
    );
    assert.deepEqual(results, ['Success', 'Refusal']);
    assert.equal(on.fake.taken(), 100);
  },
  async CardAcquisition(on) {
    const body = await done(on, 'CardAcquisition', {
      SaleData: saleData,
      CardAcquisitionTransaction: {},
    });
    const { PaymentInstrumentData } = body as Structure<'CardAcquisitionResponse'>;
    assert.match(PaymentInstrumentData?.CardData?.MaskedPan ?? '', /^\d{6}\*+\d{4}$/);
    assert.equal((await on.ask(pay(10))).texts.length, 1);
    assert.equal(on.fake.taken(), 1000, 'the card that was read pays');
  },
  async CardReaderAPDU(on) {
    const select = {
      APDUClass: hex('00'),
      APDUInstruction: hex('A4'),
      APDUPar1: hex('04'),
      APDUPar2: hex('00'),
      APDUData: hex(card.applicationId),
    };
    assert.equal(await refused(on, 'CardReaderAPDU', select), 'NotAllowed', 'no card is there');
    await done(on, 'CardReaderInit', {});
    const found = await done(on, 'CardReaderAPDU', select);
    assert.equal(found['CardStatusWords'], hex('9000'));
    const other = await done(on, 'CardReaderAPDU', { ...select, APDUData: hex('A0FF') });
    assert.equal(other['CardStatusWords'], hex('6A82'));
    const unknown = await done(on, 'CardReaderAPDU', { ...select, APDUInstruction: hex('B0') });
    assert.equal(unknown['CardStatusWords'], hex('6D00'));
  },
  async CardReaderInit(on) {
    const { EntryMode, ICCResetData } = await done(on, 'CardReaderInit', {});
    assert.deepEqual(EntryMode, ['ICC']);
    assert.ok((ICCResetData as { ATRValue: string }).ATRValue);
    on.terminal().setCard('stripe');
    assert.deepEqual((await done(on, 'CardReaderInit', {}))['EntryMode'], ['MagStripe']);
    on.terminal().setCard('absent');
    assert.equal(await refused(on, 'CardReaderInit', {}), 'Cancel');
  },
  async CardReaderPowerOff(on) {
    await done(on, 'CardReaderInit', {});
    await done(on, 'CardReaderPowerOff', {});
    assert.match(screenOf(on), /Take your card/);
  },
  async Diagnosis(on) {
    const { POIStatus } = await done(on, 'Diagnosis', {});
    assert.equal((POIStatus as { GlobalStatus: string }).GlobalStatus, 'OK');
    on.fake.setUp(false);
    const { HostStatus } = await done(on, 'Diagnosis', { HostDiagnosisFlag: true });
    const [host] = HostStatus as { IsReachableFlag: boolean }[];
    assert.equal(host?.IsReachableFlag, false);
  },
  async Display(on) {
    const output = [
      { ...place, OutputContent: text('Hello', 'you') },
      { Device: 'CashierDisplay', InfoQualify: 'Display', OutputContent: text('not here') },
    ];
    const { body } = await answerTo(on, 'Display', { DisplayOutput: output });
    const results = (body as Structure<'DisplayResponse'>).OutputResult.map(
      ({ Response }) => Response.ErrorCondition ?? Response.Result,
    );
    assert.deepEqual(results, ['Success', 'UnavailableDevice']);
    assert.equal(screenOf(on), 'Hello you');
  },
  async EnableService(on) {
    await done(on, 'EnableService', {
      TransactionAction: 'StartTransaction',
      ServicesEnabled: ['Payment'],
    });
    assert.match(screenOf(on), /Show your card/);
    await done(on, 'EnableService', { TransactionAction: 'AbortTransaction' });
    assert.match(screenOf(on), /Welcome/);
  },
  async Event(on) {
    const header = { ...pay(1).header, MessageClass: 'Event', MessageCategory: 'Event' } as const;
    const body = { TimeStamp: at, EventToNotify: 'Shutdown' };
    const { texts } = await on.ask({
      header: { ...header, MessageType: 'Notification' },
      body,
    } as AnyMessage);
    assert.deepEqual(texts, [], 'events are of terminals: one that comes says nothing');
  },
  async GetTotals(on) {
    await paid(on, 10);
    const { TransactionTotals } = await done(on, 'GetTotals', {});
    const [totals] = TransactionTotals as Structure<'TransactionTotals'>[];
    assert.equal(totals?.PaymentTotals?.[0]?.TransactionAmount, 10);
  },
  async Input(on) {
    const { InputResult } = await done(on, 'Input', inputOf('DigitString', { MinLength: 3 }));
    assert.equal((InputResult as Structure<'InputResult'>).Input?.DigitInput, '123');
    on.terminal().setTyped('GetConfirmation', 'no');
    const said = await done(on, 'Input', inputOf('GetConfirmation'));
    assert.equal((said['InputResult'] as Structure<'InputResult'>).Input?.ConfirmedFlag, false);
    const elsewhere = inputOf('TextString', { Device: 'CashierInput' });
    assert.equal(await refused(on, 'Input', elsewhere), 'UnavailableDevice');
  },
  async InputUpdate(on) {
    const { header } = asked('Input', inputOf('TextString'));
    const { texts } = await on.ask({
      header: { ...header, MessageCategory: 'InputUpdate', MessageType: 'Notification' },
      body: {
        MessageReference: { MessageCategory: 'Input' },
        OutputContent: text('Once more, please'),
      },
    } as AnyMessage);
    assert.deepEqual(texts, [], 'a notification has no answer');
    assert.equal(screenOf(on), 'Once more, please');
  },
  async Login(on) {
    const body = {
      DateTime: at,
      OperatorLanguage: 'en',
      SaleSoftware: { ApplicationName: 'till', SoftwareVersion: '1' },
    };
    const { POISystemData } = await done(on, 'Login', body);
    const { POITerminalData } = POISystemData as Structure<'POISystemData'>;
    assert.equal(POITerminalData?.POISerialNumber, '10000001');
    const other = { ...body, POISerialNumber: '7' };
    assert.equal(await refused(on, 'Login', other), 'UnavailableDevice');
  },
  async Logout(on) {
    const strict = stage({ loginRequired: true });
    assert.equal(await refused(strict, 'GetTotals', {}), 'LoggedOut');
    await strict.terminal().stop();
    await done(on, 'Logout', {});
  },
  async Loyalty(on) {
    await done(on, 'Loyalty', award('Award', 10));
    const { LoyaltyResult } = await done(on, 'Loyalty', award('Redemption', 4));
    assert.equal((LoyaltyResult as Structure<'LoyaltyResult'>[])[0]?.CurrentBalance, 6);
    assert.equal(await refused(on, 'Loyalty', award('Redemption', 7)), 'Refusal');
  },
  async PIN(on) {
    const { CardholderPIN } = await done(on, 'PIN', { PINRequestType: 'PINEnter' });
    const { EncrPINBlock } = CardholderPIN as Structure<'CardholderPIN'>;
    const { KeySerialNumber = '', PINBlock = '' } = EncrPINBlock as Record<string, string>;
    const base = Buffer.from(keys.baseDerivationKey, 'hex');
    const key = tdesWorkingKey(base, readKsn(KeySerialNumber), 'pin');
    const clear = openPinBlock('ISO0', key, Buffer.from(PINBlock, 'hex'), card.number);
    assert.equal([...readPinBlock('ISO0', clear, card.number)].join(''), '1234');
    on.terminal().setCard('wrong-pin');
    assert.equal(await refused(on, 'PIN', { PINRequestType: 'PINVerifyOnly' }), 'WrongPIN');
  },
  async Payment(on) {
    await paid(on);
    assert.equal(on.fake.taken(), 1000);
  },
  async Print(on) {
    await done(on, 'Print', printOf('Thank you'));
    assert.deepEqual(printedBy(on), [['Thank you']]);
    on.terminal().setPaper(false);
    assert.equal(await refused(on, 'Print', printOf('Thank you')), 'DeviceOut');
  },
  async Reconciliation(on) {
    const body = { ReconciliationType: 'SaleReconciliation' };
    const { POIReconciliationID } = await done(on, 'Reconciliation', body);
    assert.equal(POIReconciliationID, '1');
    const atAcquirer = { ReconciliationType: 'AcquirerReconciliation' };
    assert.equal(await refused(on, 'Reconciliation', atAcquirer), 'UnavailableService');
  },
  async Reversal(on) {
    const POITransactionID = transactionOf(await paid(on));
    const { ReversedAmount } = await done(on, 'Reversal', {
      OriginalPOITransaction: { POITransactionID },
      ReversalReason: 'CustCancel',
    });
    assert.equal(ReversedAmount, 10);
    assert.equal(on.fake.taken(), 0);
  },
  async Sound(on) {
    const content = { SoundContent: { SoundFormat: 'SoundRef' } };
    await done(on, 'Sound', { SoundAction: 'StartSound', ...content });
    await done(on, 'Sound', { SoundAction: 'StopSound', ...content });
    assert.equal(on.told.filter(({ type }) => type === 'Sound').length, 1);
  },
  async StoredValue(on) {
    await done(on, 'StoredValue', load('Activate', 5));
    assert.equal(await refused(on, 'StoredValue', load('Unload', 6)), 'Refusal');
    await done(on, 'StoredValue', load('Unload', 5));
    assert.equal(await refused(on, 'StoredValue', load('Activate', 5)), 'NotAllowed');
  },
  async TransactionStatus(on) {
    assert.equal(await refused(on, 'TransactionStatus', {}), 'NotFound');
    await paid(on);
    const last = await done(on, 'TransactionStatus', {});
    assert.ok(last['RepeatedMessageResponse'], 'without a reference the last one is told');
  },
  async Transmit(on) {
    const body = { MaximumTransmitTime: 5, Message: hex('0102'), WaitResponseFlag: true };
    const { Message } = await done(on, 'Transmit', { ...body, DestinationAddress: 'echo' });
    assert.equal(Message, hex('0102'));
    const elsewhere = { ...body, DestinationAddress: 'host' };
    assert.equal(await refused(on, 'Transmit', elsewhere), 'UnreachableHost');
  },
};

describe('each category at the terminal', () => {
  for (const [category, check] of Object.entries(cases)) {
    test(category, async () => {
      const on = stage();
      try {
        await check(on);
      } finally {
        await on.terminal().stop();
      }
    });
  }

  test('a body that is none of its category is answered MessageFormat, and nothing is done', async () => {
    const { ask, terminal, fake } = stage();
    for (const category of Object.keys(categories) as Category[]) {
      const { class: MessageClass, bodies } = categories[category] as {
        class: string;
        bodies: { Request?: string; Response?: string };
      };
      if (bodies.Request === undefined) continue;
      devices += 1;
      const ids = MessageClass === 'Device' ? { DeviceID: `D${devices}` } : {};
      const MessageHeader = {
        ProtocolVersion: '3.0',
        MessageClass,
        MessageCategory: category,
        ...ids,
        MessageType: 'Request',
        ServiceID: address().serviceId,
        SaleID: 'till',
        POIID: poiId,
      };
      const message = { SaleToPOIRequest: { MessageHeader, [`${category}Request`]: 'nothing' } };
      const texts: string[] = [];
      await terminal().receive(JSON.stringify(message), {
        isTwoWay: false,
        send: (said: string) => void texts.push(said),
        drop: () => {},
      });
      const [reading] = texts.map((said) => readMessage(said));
      const answer = reading?.kind === 'Message' ? reading.message : undefined;
      const said = answer && (resultOf(answer)?.ErrorCondition ?? answer.body['EventToNotify']);
      if (bodies.Response !== undefined) assert.match(String(said), /^(?:MessageFormat|Busy)$/);
      else assert.equal(said, 'Reject', category);
    }
    assert.equal(fake.sold.length, 0);
    assert.equal((await ask(pay(1))).texts.length, 1, 'and it goes on');
    await terminal().stop();
  });
});

describe('receipts that are asked for once more', () => {
  const statusOf = (payment: AnyMessage, more: object) =>
    asked('TransactionStatus', { MessageReference: referenceTo(payment.header), ...more });

  async function receiptsOf(on: Stage, payment: AnyMessage, more: object) {
    const { first } = await on.ask(statusOf(payment, more));
    assert.ok(first && isMessage(first, 'TransactionStatus', 'Response'));
    const { PaymentResponse } =
      first.body.RepeatedMessageResponse?.RepeatedResponseMessageBody ?? {};
    return PaymentResponse?.PaymentReceipt ?? [];
  }

  const firstLineOf = ({ OutputContent }: Structure<'PaymentReceipt'>) =>
    OutputContent.OutputText?.[0]?.Text ?? '';

  test('come as copies, those that were asked for, and are printed again', async () => {
    const on = stage();
    const payment = await paid(on);
    const before = printedBy(on).length;
    const plain = await receiptsOf(on, payment, {});
    assert.deepEqual(
      plain.map((each) => [each.DocumentQualifier, /DUPLICATE/.test(firstLineOf(each))]),
      [
        ['CashierReceipt', false],
        ['CustomerReceipt', false],
      ],
    );
    assert.equal(printedBy(on).length, before, 'nobody asked for paper');
    const all = await receiptsOf(on, payment, { ReceiptReprintFlag: true });
    assert.equal(all.length, 2);
    assert.ok(all.every((each) => /DUPLICATE/.test(firstLineOf(each))));
    assert.match(printedBy(on).at(-1)?.[0] ?? '', /DUPLICATE/);
    const wanted = { ReceiptReprintFlag: true, DocumentQualifier: ['CashierReceipt'] };
    const [cashier, ...others] = await receiptsOf(on, payment, wanted);
    assert.equal(cashier?.DocumentQualifier, 'CashierReceipt');
    assert.deepEqual(others, []);
    assert.equal(
      printedBy(on).length,
      before + 1,
      'the copy of the cashier is the till’s to print',
    );
    on.terminal().setPaper(false);
    assert.equal((await receiptsOf(on, payment, { ReceiptReprintFlag: true })).length, 2);
    assert.equal(printedBy(on).length, before + 1, 'the outcome is told without paper too');
    await on.terminal().stop();
  });

  test('of a service that has none, or was declined, the answer is as it was', async () => {
    const on = stage({ times: quick });
    on.fake.next('Declines');
    const payment = pay(10);
    await on.ask(payment);
    assert.deepEqual(await receiptsOf(on, payment, { ReceiptReprintFlag: true }), []);
    await on.terminal().stop();
  });
});
