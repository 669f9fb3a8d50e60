// Each of the 27 categories at the terminal: its answer, or that it sends none.
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
import {
  at,
  createTestTerminal,
  keys,
  newAddress,
  paymentRequest,
  poiId,
  saleData,
  shortTimes,
  type TestTerminal,
} from '../terminal.fixture.ts';

const hex = (text: string) => Buffer.from(text, 'hex').toString('base64');
const display = { Device: 'CustomerDisplay', InfoQualify: 'Display' };
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

/** A request of any category; device messages have an identification of their own. */
function buildRequest(category: Category, body: object): AnyMessage {
  const { serviceId, ...to } = newAddress();
  devices += 1;
  const isDevice = categories[category].class === 'Device';
  const ids = isDevice ? { ...to, deviceId: `D${devices}` } : { ...to, serviceId };
  return requestOf(category as 'Admin', ids, body as never) as AnyMessage;
}

async function answerTo(
  harness: TestTerminal,
  category: Category,
  body: object,
): Promise<AnyMessage> {
  const { first, texts } = await harness.ask(buildRequest(category, body));
  assert.ok(first, `${category} is answered`);
  assert.equal(texts.length, 1);
  assert.equal(first.header.MessageCategory, category);
  assert.equal(first.header.MessageType, 'Response');
  return first;
}

async function done(
  harness: TestTerminal,
  category: Category,
  body: object,
): Promise<AnyMessage['body']> {
  const answer = await answerTo(harness, category, body);
  assert.equal(resultOf(answer)?.Result, 'Success', JSON.stringify(answer.body));
  return answer.body;
}

async function refused(
  harness: TestTerminal,
  category: Category,
  body: object,
): Promise<string | undefined> {
  const answer = await answerTo(harness, category, body);
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

const screenOf = (harness: TestTerminal) => harness.terminal().screen().lines.join(' ');
const printedBy = ({ events }: TestTerminal) =>
  events.flatMap((each) => (each.type === 'Printed' ? [each.lines] : []));

async function paid(harness: TestTerminal, amount = 10): Promise<AnyMessage> {
  const payment = paymentRequest(amount);
  const { first } = await harness.ask(payment);
  assert.ok(first && isMessage(first, 'Payment', 'Response'));
  assert.equal(first.body.Response.Result, 'Success');
  return { header: payment.header, body: first.body };
}

const transactionOf = ({ body }: AnyMessage) =>
  (body as Structure<'PaymentResponse'>).POIData?.POITransactionID;

const cases: Readonly<Record<Category, (harness: TestTerminal) => Promise<void>>> = {
  async Abort(harness) {
    const { texts, first } = await harness.ask(
      buildRequest('Abort', { AbortReason: 'x', MessageReference: { MessageCategory: 'Payment' } }),
    );
    assert.equal(texts.length, 1, 'nothing runs that it could end, and it has no answer');
    assert.ok(first && isMessage(first, 'Event', 'Notification'));
    assert.equal(first.body.EventToNotify, 'Reject');
  },
  async Admin(harness) {
    assert.equal(await refused(harness, 'Admin', { ServiceIdentification: 'reprint' }), 'NotFound');
    await paid(harness);
    await done(harness, 'Admin', { ServiceIdentification: 'reprint' });
    const [original, copy] = printedBy(harness);
    assert.match(copy?.[0] ?? '', /DUPLICATE/);
    assert.deepEqual(copy?.slice(1), original);
    assert.equal(
      await refused(harness, 'Admin', { ServiceIdentification: 'other' }),
      'UnavailableService',
    );
  },
  async BalanceInquiry(harness) {
    const storedValueReference = {
      PaymentAccountReq: {
        PaymentInstrumentData: {
          PaymentInstrumentType: 'StoredValue',
          StoredValueAccountID: giftCard,
        },
      },
    };
    assert.equal(await refused(harness, 'BalanceInquiry', storedValueReference), 'NotFound');
    await done(harness, 'StoredValue', load('Activate', 5));
    const { PaymentAccountStatus } = await done(harness, 'BalanceInquiry', storedValueReference);
    assert.deepEqual(PaymentAccountStatus, { CurrentBalance: 5, Currency: 'EUR' });
    await done(harness, 'Loyalty', award('Award', 10));
    const points = await done(harness, 'BalanceInquiry', {
      LoyaltyAccountReq: { LoyaltyAccountID: member },
    });
    const { CurrentBalance } = points['LoyaltyAccountStatus'] as { CurrentBalance: number };
    assert.equal(CurrentBalance, 10);
  },
  async Batch(harness) {
    harness.fake.next('Approves', 'Declines');
    const { PerformedTransaction } = await done(harness, 'Batch', {
      TransactionToPerform: [
        { PaymentRequest: paymentRequest(1).body },
        { PaymentRequest: paymentRequest(2).body },
      ],
    });
    const results = (PerformedTransaction as Structure<'PerformedTransaction'>[]).map(
      ({ Response }) => Response.ErrorCondition ?? Response.Result,
    );
    assert.deepEqual(results, ['Success', 'Refusal']);
    assert.equal(harness.fake.taken(), 100);
  },
  async CardAcquisition(harness) {
    const body = await done(harness, 'CardAcquisition', {
      SaleData: saleData,
      CardAcquisitionTransaction: {},
    });
    const { PaymentInstrumentData } = body as Structure<'CardAcquisitionResponse'>;
    assert.match(PaymentInstrumentData?.CardData?.MaskedPan ?? '', /^\d{6}\*+\d{4}$/);
    assert.equal((await harness.ask(paymentRequest(10))).texts.length, 1);
    assert.equal(harness.fake.taken(), 1000, 'the card that was read pays');
  },
  async CardReaderAPDU(harness) {
    const select = {
      APDUClass: hex('00'),
      APDUInstruction: hex('A4'),
      APDUPar1: hex('04'),
      APDUPar2: hex('00'),
      APDUData: hex(card.applicationId),
    };
    assert.equal(
      await refused(harness, 'CardReaderAPDU', select),
      'NotAllowed',
      'no card is there',
    );
    await done(harness, 'CardReaderInit', {});
    const cardResponse = await done(harness, 'CardReaderAPDU', select);
    assert.equal(cardResponse['CardStatusWords'], hex('9000'));
    const other = await done(harness, 'CardReaderAPDU', { ...select, APDUData: hex('A0FF') });
    assert.equal(other['CardStatusWords'], hex('6A82'));
    const unknown = await done(harness, 'CardReaderAPDU', {
      ...select,
      APDUInstruction: hex('B0'),
    });
    assert.equal(unknown['CardStatusWords'], hex('6D00'));
  },
  async CardReaderInit(harness) {
    const { EntryMode, ICCResetData } = await done(harness, 'CardReaderInit', {});
    assert.deepEqual(EntryMode, ['ICC']);
    assert.ok((ICCResetData as { ATRValue: string }).ATRValue);
    harness.terminal().setCard('stripe');
    assert.deepEqual((await done(harness, 'CardReaderInit', {}))['EntryMode'], ['MagStripe']);
    harness.terminal().setCard('absent');
    assert.equal(await refused(harness, 'CardReaderInit', {}), 'Cancel');
  },
  async CardReaderPowerOff(harness) {
    await done(harness, 'CardReaderInit', {});
    await done(harness, 'CardReaderPowerOff', {});
    assert.match(screenOf(harness), /Take your card/);
  },
  async Diagnosis(harness) {
    const { POIStatus } = await done(harness, 'Diagnosis', {});
    assert.equal((POIStatus as { GlobalStatus: string }).GlobalStatus, 'OK');
    harness.fake.setUp(false);
    const { HostStatus } = await done(harness, 'Diagnosis', { HostDiagnosisFlag: true });
    const [host] = HostStatus as { IsReachableFlag: boolean }[];
    assert.equal(host?.IsReachableFlag, false);
  },
  async Display(harness) {
    const output = [
      { ...display, OutputContent: text('Hello', 'you') },
      { Device: 'CashierDisplay', InfoQualify: 'Display', OutputContent: text('not here') },
    ];
    const { body } = await answerTo(harness, 'Display', { DisplayOutput: output });
    const results = (body as Structure<'DisplayResponse'>).OutputResult.map(
      ({ Response }) => Response.ErrorCondition ?? Response.Result,
    );
    assert.deepEqual(results, ['Success', 'UnavailableDevice']);
    assert.equal(screenOf(harness), 'Hello you');
  },
  async EnableService(harness) {
    await done(harness, 'EnableService', {
      TransactionAction: 'StartTransaction',
      ServicesEnabled: ['Payment'],
    });
    assert.match(screenOf(harness), /Show your card/);
    await done(harness, 'EnableService', { TransactionAction: 'AbortTransaction' });
    assert.match(screenOf(harness), /Welcome/);
  },
  async Event(harness) {
    const header = {
      ...paymentRequest(1).header,
      MessageClass: 'Event',
      MessageCategory: 'Event',
    } as const;
    const body = { TimeStamp: at, EventToNotify: 'Shutdown' };
    const { texts } = await harness.ask({
      header: { ...header, MessageType: 'Notification' },
      body,
    } as AnyMessage);
    assert.deepEqual(texts, [], 'events are of terminals: one that comes says nothing');
  },
  async GetTotals(harness) {
    await paid(harness, 10);
    const { TransactionTotals } = await done(harness, 'GetTotals', {});
    const [totals] = TransactionTotals as Structure<'TransactionTotals'>[];
    assert.equal(totals?.PaymentTotals?.[0]?.TransactionAmount, 10);
  },
  async Input(harness) {
    const { InputResult } = await done(harness, 'Input', inputOf('DigitString', { MinLength: 3 }));
    assert.equal((InputResult as Structure<'InputResult'>).Input?.DigitInput, '123');
    harness.terminal().setInput('GetConfirmation', 'no');
    const response = await done(harness, 'Input', inputOf('GetConfirmation'));
    assert.equal((response['InputResult'] as Structure<'InputResult'>).Input?.ConfirmedFlag, false);
    const elsewhere = inputOf('TextString', { Device: 'CashierInput' });
    assert.equal(await refused(harness, 'Input', elsewhere), 'UnavailableDevice');
  },
  async InputUpdate(harness) {
    const { header } = buildRequest('Input', inputOf('TextString'));
    const { texts } = await harness.ask({
      header: { ...header, MessageCategory: 'InputUpdate', MessageType: 'Notification' },
      body: {
        MessageReference: { MessageCategory: 'Input' },
        OutputContent: text('Once more, please'),
      },
    } as AnyMessage);
    assert.deepEqual(texts, [], 'a notification has no answer');
    assert.equal(screenOf(harness), 'Once more, please');
  },
  async Login(harness) {
    const body = {
      DateTime: at,
      OperatorLanguage: 'en',
      SaleSoftware: { ApplicationName: 'till', SoftwareVersion: '1' },
    };
    const { POISystemData } = await done(harness, 'Login', body);
    const { POITerminalData } = POISystemData as Structure<'POISystemData'>;
    assert.equal(POITerminalData?.POISerialNumber, '10000001');
    const other = { ...body, POISerialNumber: '7' };
    assert.equal(await refused(harness, 'Login', other), 'UnavailableDevice');
  },
  async Logout(harness) {
    const strict = createTestTerminal({ loginRequired: true });
    assert.equal(await refused(strict, 'GetTotals', {}), 'LoggedOut');
    await strict.terminal().stop();
    await done(harness, 'Logout', {});
  },
  async Loyalty(harness) {
    await done(harness, 'Loyalty', award('Award', 10));
    const { LoyaltyResult } = await done(harness, 'Loyalty', award('Redemption', 4));
    assert.equal((LoyaltyResult as Structure<'LoyaltyResult'>[])[0]?.CurrentBalance, 6);
    assert.equal(await refused(harness, 'Loyalty', award('Redemption', 7)), 'Refusal');
  },
  async PIN(harness) {
    const { CardholderPIN } = await done(harness, 'PIN', { PINRequestType: 'PINEnter' });
    const { EncrPINBlock } = CardholderPIN as Structure<'CardholderPIN'>;
    const { KeySerialNumber = '', PINBlock = '' } = EncrPINBlock as Record<string, string>;
    const base = Buffer.from(keys.baseDerivationKey, 'hex');
    const key = tdesWorkingKey(base, readKsn(KeySerialNumber), 'pin');
    const clear = openPinBlock('ISO0', key, Buffer.from(PINBlock, 'hex'), card.number);
    assert.equal([...readPinBlock('ISO0', clear, card.number)].join(''), '1234');
    harness.terminal().setCard('wrong-pin');
    assert.equal(await refused(harness, 'PIN', { PINRequestType: 'PINVerifyOnly' }), 'WrongPIN');
  },
  async Payment(harness) {
    await paid(harness);
    assert.equal(harness.fake.taken(), 1000);
  },
  async Print(harness) {
    await done(harness, 'Print', printOf('Thank you'));
    assert.deepEqual(printedBy(harness), [['Thank you']]);
    harness.terminal().setPaper(false);
    assert.equal(await refused(harness, 'Print', printOf('Thank you')), 'DeviceOut');
  },
  async Reconciliation(harness) {
    const body = { ReconciliationType: 'SaleReconciliation' };
    const { POIReconciliationID } = await done(harness, 'Reconciliation', body);
    assert.equal(POIReconciliationID, '1');
    const atAcquirer = { ReconciliationType: 'AcquirerReconciliation' };
    assert.equal(await refused(harness, 'Reconciliation', atAcquirer), 'UnavailableService');
  },
  async Reversal(harness) {
    const POITransactionID = transactionOf(await paid(harness));
    const { ReversedAmount } = await done(harness, 'Reversal', {
      OriginalPOITransaction: { POITransactionID },
      ReversalReason: 'CustCancel',
    });
    assert.equal(ReversedAmount, 10);
    assert.equal(harness.fake.taken(), 0);
  },
  async Sound(harness) {
    const content = { SoundContent: { SoundFormat: 'SoundRef' } };
    await done(harness, 'Sound', { SoundAction: 'StartSound', ...content });
    await done(harness, 'Sound', { SoundAction: 'StopSound', ...content });
    assert.equal(harness.events.filter(({ type }) => type === 'Sound').length, 1);
  },
  async StoredValue(harness) {
    await done(harness, 'StoredValue', load('Activate', 5));
    assert.equal(await refused(harness, 'StoredValue', load('Unload', 6)), 'Refusal');
    await done(harness, 'StoredValue', load('Unload', 5));
    assert.equal(await refused(harness, 'StoredValue', load('Activate', 5)), 'NotAllowed');
  },
  async TransactionStatus(harness) {
    assert.equal(await refused(harness, 'TransactionStatus', {}), 'NotFound');
    await paid(harness);
    const last = await done(harness, 'TransactionStatus', {});
    assert.ok(
      last['RepeatedMessageResponse'],
      'without a reference the answer repeats the last message',
    );
  },
  async Transmit(harness) {
    const body = { MaximumTransmitTime: 5, Message: hex('0102'), WaitResponseFlag: true };
    const { Message } = await done(harness, 'Transmit', { ...body, DestinationAddress: 'echo' });
    assert.equal(Message, hex('0102'));
    const elsewhere = { ...body, DestinationAddress: 'host' };
    assert.equal(await refused(harness, 'Transmit', elsewhere), 'UnreachableHost');
  },
};

describe('each category at the terminal', () => {
  for (const [category, check] of Object.entries(cases)) {
    test(category, async () => {
      const harness = createTestTerminal();
      try {
        await check(harness);
      } finally {
        await harness.terminal().stop();
      }
    });
  }

  // Spec: CC-25
  test('the terminal refuses an invalid body in each category and makes no payment', async () => {
    const { ask, terminal, fake } = createTestTerminal();
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
        ServiceID: newAddress().serviceId,
        SaleID: 'till',
        POIID: poiId,
      };
      const message = { SaleToPOIRequest: { MessageHeader, [`${category}Request`]: 'nothing' } };
      const texts: string[] = [];
      await terminal().receive(JSON.stringify(message), {
        isTwoWay: false,
        send: (text: string) => void texts.push(text),
        drop: () => {},
      });
      const [reading] = texts.map((text) => readMessage(text));
      const answer = reading?.kind === 'Message' ? reading.message : undefined;
      const condition =
        answer && (resultOf(answer)?.ErrorCondition ?? answer.body['EventToNotify']);
      if (bodies.Response !== undefined)
        assert.match(String(condition), /^(?:MessageFormat|Busy)$/);
      else assert.equal(condition, 'Reject', category);
    }
    assert.equal(fake.sold.length, 0);
    assert.equal((await ask(paymentRequest(1))).texts.length, 1, 'and it goes on');
    await terminal().stop();
  });
});

describe('reprinted receipts', () => {
  const statusOf = (payment: AnyMessage, more: object) =>
    buildRequest('TransactionStatus', { MessageReference: referenceTo(payment.header), ...more });

  async function receiptsOf(harness: TestTerminal, payment: AnyMessage, more: object) {
    const { first } = await harness.ask(statusOf(payment, more));
    assert.ok(first && isMessage(first, 'TransactionStatus', 'Response'));
    const { PaymentResponse } =
      first.body.RepeatedMessageResponse?.RepeatedResponseMessageBody ?? {};
    return PaymentResponse?.PaymentReceipt ?? [];
  }

  const firstLineOf = ({ OutputContent }: Structure<'PaymentReceipt'>) =>
    OutputContent.OutputText?.[0]?.Text ?? '';

  // Spec: NEXO-57
  test('are marked as duplicates and limited to the requested types, and the terminal prints the customer copy', async () => {
    const harness = createTestTerminal();
    const payment = await paid(harness);
    const before = printedBy(harness).length;
    const plain = await receiptsOf(harness, payment, {});
    assert.deepEqual(
      plain.map((each) => [each.DocumentQualifier, /DUPLICATE/.test(firstLineOf(each))]),
      [
        ['CashierReceipt', false],
        ['CustomerReceipt', false],
      ],
    );
    assert.equal(printedBy(harness).length, before, 'no receipt was requested');
    const all = await receiptsOf(harness, payment, { ReceiptReprintFlag: true });
    assert.equal(all.length, 2);
    assert.ok(all.every((each) => /DUPLICATE/.test(firstLineOf(each))));
    assert.match(printedBy(harness).at(-1)?.[0] ?? '', /DUPLICATE/);
    const reprintOptions = { ReceiptReprintFlag: true, DocumentQualifier: ['CashierReceipt'] };
    const [cashier, ...others] = await receiptsOf(harness, payment, reprintOptions);
    assert.equal(cashier?.DocumentQualifier, 'CashierReceipt');
    assert.deepEqual(others, []);
    assert.equal(
      printedBy(harness).length,
      before + 1,
      'the copy of the cashier is the till’s to print',
    );
    harness.terminal().setPaper(false);
    assert.equal((await receiptsOf(harness, payment, { ReceiptReprintFlag: true })).length, 2);
    assert.equal(
      printedBy(harness).length,
      before + 1,
      'the outcome is reported without paper too',
    );
    await harness.terminal().stop();
  });

  test('are not returned for a declined payment', async () => {
    const harness = createTestTerminal({ times: shortTimes });
    harness.fake.next('Declines');
    const payment = paymentRequest(10);
    await harness.ask(payment);
    assert.deepEqual(await receiptsOf(harness, payment, { ReceiptReprintFlag: true }), []);
    await harness.terminal().stop();
  });
});
