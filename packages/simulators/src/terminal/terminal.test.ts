import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findPans } from '@switchyard/emv';
import {
  type AnyMessage,
  isMessage,
  referenceTo,
  requestOf,
  resultOf,
  writeMessage,
} from '@switchyard/nexo';
import { openPinBlock, readKsn, readPinBlock, tdesWorkingKey } from '@switchyard/pin';
import { testCards } from './cards/test-cards.ts';
import {
  at,
  cashierTill,
  createTestTerminal,
  keys,
  newAddress,
  paymentRequest,
  shortTimes,
  temporaryFolder,
  undoRequest,
} from './terminal.fixture.ts';

/** Ciphertext and identifiers aside, in which digits may come to look like a card's. */
const withoutChance = (text: string) =>
  text
    .replace(/"(?:data|pinblock)":"[0-9A-F]+"/g, '')
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '');

test('the terminal sends the card number and PIN only encrypted, and returns both receipts', async () => {
  const { ask, fake, terminal, dataDir } = createTestTerminal();
  const { first } = await ask(paymentRequest(12.5));
  assert.ok(first && isMessage(first, 'Payment', 'Response'));
  assert.equal(first.body.Response.Result, 'Success');
  assert.equal(first.body.PaymentResult?.AmountsResp?.AuthorizedAmount, 12.5);
  assert.deepEqual(first.body.PaymentResult?.AuthenticationMethod, ['OnlinePIN']);
  assert.deepEqual(
    first.body.PaymentReceipt?.map(({ DocumentQualifier }) => DocumentQualifier),
    ['CashierReceipt', 'CustomerReceipt'],
  );
  const [sold] = fake.sold;
  assert.equal(sold?.['amount'], 1250);
  const block = Buffer.from(String(sold?.['pinblock']), 'hex');
  const key = tdesWorkingKey(
    Buffer.from(keys.baseDerivationKey, 'hex'),
    readKsn(String(sold?.['ksn'])),
    'pin',
  );
  const card = testCards[0];
  assert.ok(card);
  const clear = openPinBlock('ISO0', key, block, card.number);
  assert.equal([...readPinBlock('ISO0', clear, card.number)].join(''), '1234');
  assert.ok(!JSON.stringify(sold).includes(card.number));
  assert.deepEqual(findPans(withoutChance(JSON.stringify(sold))), []);
  for (const name of readdirSync(dataDir)) {
    const file = join(dataDir, name);
    const text = readFileSync(file, 'utf8');
    assert.ok(!text.includes(card.number), name);
    assert.deepEqual(findPans(withoutChance(text)), [], name);
    assert.equal(statSync(file).mode & 0o777, 0o600);
  }
  await terminal().stop();
});

test('each test card produces the result that its name describes', async () => {
  const expected: Record<string, string> = {
    'wrong-pin': 'WrongPIN',
    removed: 'Cancel',
    'removed-late': 'Cancel',
    absent: 'Cancel',
    cancels: 'Cancel',
    unreadable: 'InvalidCard',
    declines: 'Refusal',
    'declines-late': 'Refusal',
  };
  for (const { name } of testCards) {
    const { terminal, conditionOf, fake } = createTestTerminal();
    if (name === 'wrong-pin') fake.next('WrongPin', 'WrongPin', 'WrongPin', 'WrongPin');
    if (name === 'wrong-pin-once') fake.next('WrongPin');
    terminal().setCard(name);
    const condition = await conditionOf(paymentRequest(10));
    assert.equal(condition, expected[name] ?? 'Success', name);
    assert.equal(fake.taken(), condition === 'Success' ? 1000 : 0, name);
    assert.deepEqual(terminal().pendingCounts(), { reversals: 0, uploads: 0 }, name);
    await terminal().stop();
  }
});

test('a tap that wants a PIN is repeated with it, once', async () => {
  const { terminal, conditionOf, fake } = createTestTerminal();
  fake.next('AsksPin');
  terminal().setCard('tap');
  assert.equal(await conditionOf(paymentRequest(10)), 'Success');
  const [tap, again] = fake.sold;
  assert.equal(tap?.['pinblock'], undefined);
  assert.equal(again?.['entryMode'], 'ContactlessChip');
  assert.ok(again?.['pinblock']);
  assert.ok(again?.['stepUpOf']);
  assert.notEqual(again?.['clientTransactionId'], tap?.['clientTransactionId']);
  await terminal().stop();
});

test('the terminal reports a declined payment as Refusal and a partial approval as Partial', async () => {
  const { terminal, ask, conditionOf, fake } = createTestTerminal();
  fake.next('Declines', 'TakesHalf');
  assert.equal(await conditionOf(paymentRequest(10)), 'Refusal');
  const { first } = await ask(paymentRequest(10, { PaymentData: { SplitPaymentFlag: true } }));
  assert.ok(first && isMessage(first, 'Payment', 'Response'));
  assert.equal(first.body.Response.Result, 'Partial');
  assert.equal(first.body.PaymentResult?.AmountsResp?.AuthorizedAmount, 5);
  await terminal().stop();
});

test('the terminal recovers a sale whose answer was lost, and reports UnreachableHost when the platform never received the sale', async () => {
  const { terminal, conditionOf, fake } = createTestTerminal();
  fake.next('LosesAnswer', 'NeverGets');
  assert.equal(await conditionOf(paymentRequest(10)), 'Success');
  assert.equal(await conditionOf(paymentRequest(10)), 'UnreachableHost');
  assert.equal(fake.taken(), 1000);
  assert.equal(terminal().pendingCounts().reversals, 0);
  await terminal().stop();
});

test('a terminal that forgot its counter finds a key that is new', async () => {
  const { terminal, conditionOf, fake } = createTestTerminal();
  fake.next('KsnReused', 'KsnReused', 'KsnReused');
  assert.equal(await conditionOf(paymentRequest(10)), 'Success');
  const counters = fake.sold.map((body) => readKsn(String(body['ksn'])).counter);
  assert.deepEqual(counters, [1, 4, 8, 16]);
  await terminal().stop();
});

test('faults change only the answer and not the payment: TransactionStatus returns the successful result', async () => {
  for (const [cents, sent, drops] of [
    [8012, 0, true],
    [8013, 1, false],
    [8014, 2, false],
    [8015, 1, false],
  ] as const) {
    const { terminal, ask, statusOf, fake } = createTestTerminal();
    const payment = paymentRequest(cents / 100);
    const { texts, isDropped } = await ask(payment);
    assert.equal(texts.length, sent, String(cents));
    assert.equal(isDropped, drops, String(cents));
    assert.equal(fake.taken(), cents);
    const repeated = await statusOf(payment);
    assert.ok(repeated && isMessage(repeated, 'Payment', 'Response'));
    assert.equal(repeated.body.Response.Result, 'Success');
    await terminal().stop();
  }
});

test('the terminal aborts the payment when the connection breaks before the terminal has sent the sale', async () => {
  const { terminal, ask, statusOf, fake } = createTestTerminal();
  const payment = paymentRequest(80.11);
  assert.equal((await ask(payment)).isDropped, true);
  const repeated = await statusOf(payment);
  assert.ok(repeated);
  assert.equal(resultOf(repeated)?.ErrorCondition, 'Aborted');
  assert.equal(fake.sold.length, 0);
  await terminal().stop();
});

test('a terminal that restarts during a payment recovers the result, and TransactionStatus returns it', async () => {
  const { terminal, ask, statusOf, fake } = createTestTerminal();
  const payment = paymentRequest(80.16);
  const { texts } = await ask(payment);
  assert.deepEqual(texts, []);
  const repeated = await statusOf(payment);
  assert.ok(repeated && isMessage(repeated, 'Payment', 'Response'));
  assert.equal(repeated.body.Response.Result, 'Success');
  assert.equal(repeated.body.PaymentResult?.PaymentType, 'Normal');
  assert.equal(fake.taken(), 8016);
  await terminal().stop();
});

test('while it finds out after a restart it takes nothing new, and a second restart forgets nothing', async () => {
  const { fake, terminal: other } = createTestTerminal();
  let isSilent = true;
  let enquiries = 0;
  const find: typeof fake.platform.findTransaction = (id) => {
    enquiries += 1;
    return isSilent ? new Promise(() => {}) : fake.platform.findTransaction(id);
  };
  const { terminal, ask, conditionOf, statusOf } = createTestTerminal({
    platform: { ...fake.platform, findTransaction: find },
  });
  const payment = paymentRequest(80.16);
  void ask(payment);
  while (enquiries === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(await conditionOf(paymentRequest(10)), 'Busy');
  assert.equal(await conditionOf(requestOf('Diagnosis', newAddress(), {})), 'Success');
  isSilent = false;
  await terminal().reboot();
  const repeated = await statusOf(payment);
  assert.ok(repeated && isMessage(repeated, 'Payment', 'Response'));
  assert.equal(repeated.body.Response.Result, 'Success');
  assert.equal(fake.taken(), 8016);
  assert.equal(await conditionOf(paymentRequest(10)), 'Success');
  await terminal().stop();
  await other().stop();
});

test('after a restart during the wait for a card, TransactionStatus reports that the payment was aborted', async () => {
  const { terminal, ask, statusOf, fake } = createTestTerminal({
    times: { ...shortTimes, cardWaitMs: 60_000 },
  });
  terminal().setCard('absent');
  const payment = paymentRequest(10);
  const pending = ask(payment);
  await new Promise((resolve) => setImmediate(resolve));
  await terminal().reboot();
  await pending;
  const repeated = await statusOf(payment);
  assert.ok(repeated && isMessage(repeated, 'Payment', 'Response'));
  assert.equal(repeated.body.Response.ErrorCondition, 'Aborted');
  assert.equal(fake.sold.length, 0);
  await terminal().stop();
});

// Spec: NEXO-53
test('a restart in the middle of a refund or a reversal: it is done once, and the till gets the answer', async () => {
  for (const category of ['Payment', 'Reversal'] as const) {
    const dataDir = temporaryFolder();
    const { terminal, ask, fake } = createTestTerminal({}, dataDir);
    const { first } = await ask(paymentRequest(10));
    const undoMessage = undoRequest(category, first);
    fake.setStuck(true);
    void ask(undoMessage);
    while (fake.operations.length === 0) await new Promise((resolve) => setImmediate(resolve));
    fake.setStuck(false);
    await terminal().reboot();
    await terminal().stop();
    const after = createTestTerminal({ platform: fake.platform }, dataDir);
    const repeated = await after.statusOf(undoMessage);
    assert.ok(repeated, category);
    assert.equal(resultOf(repeated)?.Result, 'Success', JSON.stringify(repeated.body));
    assert.equal(new Set(fake.operations).size, 1, 'one operation for all requests');
    assert.equal(fake.operations.length, 2);
    const { first: totals } = await after.ask(requestOf('GetTotals', newAddress(), {}));
    assert.ok(totals && isMessage(totals, 'GetTotals', 'Response'));
    const counted = totals.body.TransactionTotals?.flatMap(({ PaymentTotals = [] }) =>
      PaymentTotals.map(({ TransactionCount }) => TransactionCount),
    );
    assert.deepEqual(counted, [1, 1], 'the sale, and what took it back, once');
    await after.terminal().stop();
  }
});

test('identifications are remembered over a restart, and so are answers', async () => {
  const { terminal, ask, statusOf, restart, fake } = createTestTerminal();
  const payment = paymentRequest(10);
  await ask(payment);
  await restart();
  const { first } = await ask(payment);
  assert.ok(first && isMessage(first, 'Event', 'Notification'));
  assert.equal(first.body.EventToNotify, 'Reject');
  assert.ok(await statusOf(payment));
  assert.equal(fake.sold.length, 1);
  await terminal().stop();
});

test('an abort ends a payment that waits for a card; a later abort is answered with Completed', async () => {
  const { terminal, ask, fake } = createTestTerminal({
    times: { ...shortTimes, cardWaitMs: 60_000 },
  });
  terminal().setCard('absent');
  const payment = paymentRequest(10);
  const abort = requestOf('Abort', newAddress(), {
    MessageReference: referenceTo(payment.header),
    AbortReason: 'MerchantAbort',
  });
  const [paid, aborted] = await Promise.all([ask(payment), ask(abort)]);
  assert.deepEqual(aborted.texts, []);
  assert.ok(paid.first);
  assert.equal(resultOf(paid.first)?.ErrorCondition, 'Aborted');
  const late = await ask({ ...abort, header: { ...abort.header, ServiceID: 'late' } });
  assert.ok(late.first && isMessage(late.first, 'Event', 'Notification'));
  assert.equal(late.first.body.EventToNotify, 'Completed');
  assert.equal(fake.sold.length, 0);
  await terminal().stop();
});

test('a chip card approves a sale offline, and the terminal uploads the sale when the platform is reachable again', async () => {
  const { terminal, conditionOf, fake } = createTestTerminal();
  terminal().setCard('offline');
  fake.setUp(false);
  assert.equal(await conditionOf(paymentRequest(10)), 'Success');
  assert.equal(terminal().pendingCounts().uploads, 1);
  fake.setUp(true);
  terminal().setReachable(true);
  const end = Date.now() + 30_000;
  while (terminal().pendingCounts().uploads > 0 && Date.now() < end) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  const [body] = fake.sold;
  assert.equal(body?.['offlineTransaction'], true);
  for (const { number } of testCards) assert.ok(!JSON.stringify(body).includes(number));
  assert.deepEqual(findPans(withoutChance(JSON.stringify(body))), []);
  await terminal().stop();
});

test('refund, completion and reversal name their original', async () => {
  const { terminal, ask, conditionOf, fake } = createTestTerminal();
  const { first } = await ask(
    paymentRequest(10, { PaymentData: { PaymentType: 'FirstReservation' } }),
  );
  assert.ok(first && isMessage(first, 'Payment', 'Response'));
  const OriginalPOITransaction = { POITransactionID: first.body.POIData?.POITransactionID };
  const followUp = (PaymentType: string, amount: number) =>
    paymentRequest(amount, {
      PaymentTransaction: {
        AmountsReq: { Currency: 'EUR', RequestedAmount: amount },
        OriginalPOITransaction,
      },
      PaymentData: { PaymentType },
    });
  assert.equal(await conditionOf(followUp('Completion', 8)), 'Success');
  assert.equal(await conditionOf(followUp('Refund', 3)), 'Success');
  assert.equal(
    await conditionOf(paymentRequest(3, { PaymentData: { PaymentType: 'Refund' } })),
    'NotAllowed',
  );
  assert.equal(await conditionOf(followUp('Instalment', 3)), 'UnavailableService');
  const second = await ask(paymentRequest(20));
  assert.ok(second.first && isMessage(second.first, 'Payment', 'Response'));
  const reversal = requestOf('Reversal', newAddress(), {
    OriginalPOITransaction: { POITransactionID: second.first.body.POIData?.POITransactionID },
    ReversalReason: 'MerchantCancel',
  } as never);
  assert.equal(await conditionOf(reversal), 'Success');
  assert.equal(fake.taken(), 0);
  const unknown = requestOf('Reversal', newAddress(), {
    OriginalPOITransaction: { POITransactionID: { TransactionID: 'nowhere', TimeStamp: at } },
    ReversalReason: 'Malfunction',
  });
  assert.equal(await conditionOf(unknown), 'NotFound');
  await terminal().stop();
});

test('the terminal counts totals, overall or per SaleID, until a reconciliation closes the period', async () => {
  const { terminal, ask } = createTestTerminal();
  await ask(paymentRequest(10, {}, newAddress('till-1')));
  await ask(paymentRequest(5, {}, newAddress('till-1')));
  await ask(paymentRequest(1, {}, newAddress('till-2')));
  const totals = async (details: readonly 'SaleID'[]) => {
    const { first } = await ask(requestOf('GetTotals', newAddress(), { TotalDetails: details }));
    assert.ok(first && isMessage(first, 'GetTotals', 'Response'));
    return first.body.TransactionTotals?.map(({ SaleID, PaymentTotals }) => [
      SaleID,
      PaymentTotals?.map((each) => [
        each.TransactionType,
        each.TransactionCount,
        each.TransactionAmount,
      ]),
    ]);
  };
  assert.deepEqual(await totals([]), [[undefined, [['Debit', 3, 16]]]]);
  assert.deepEqual(await totals(['SaleID']), [
    ['till-1', [['Debit', 2, 15]]],
    ['till-2', [['Debit', 1, 1]]],
  ]);
  const close = () =>
    ask(requestOf('Reconciliation', newAddress(), { ReconciliationType: 'SaleReconciliation' }));
  const { first } = await close();
  assert.ok(first && isMessage(first, 'Reconciliation', 'Response'));
  assert.equal(first.body.POIReconciliationID, '1');
  assert.deepEqual(await totals([]), []);
  const previous = await ask(
    requestOf('Reconciliation', newAddress(), {
      ReconciliationType: 'PreviousReconciliation',
      POIReconciliationID: '1',
    }),
  );
  assert.ok(previous.first && isMessage(previous.first, 'Reconciliation', 'Response'));
  assert.equal(previous.first.body.TransactionTotals?.length, 2);
  await terminal().stop();
});

test('busy, in maintenance, without paper, without a login', async () => {
  const { terminal, conditionOf, ask } = createTestTerminal();
  terminal().setBusy(true);
  assert.equal(await conditionOf(paymentRequest(1)), 'Busy');
  terminal().setBusy(false);
  terminal().setMaintenance(true);
  assert.equal(await conditionOf(paymentRequest(1)), 'Busy');
  const { first } = await ask(requestOf('Diagnosis', newAddress(), { HostDiagnosisFlag: true }));
  assert.ok(first && isMessage(first, 'Diagnosis', 'Response'));
  assert.equal(first.body.POIStatus?.GlobalStatus, 'Maintenance');
  assert.equal(first.body.HostStatus?.[0]?.IsReachableFlag, true);
  terminal().setMaintenance(false);
  terminal().setPaper(false);
  const print = requestOf(
    'Print',
    { ...newAddress(), deviceId: 'D1' },
    {
      PrintOutput: {
        DocumentQualifier: 'Document',
        ResponseMode: 'PrintEnd',
        OutputContent: { OutputFormat: 'Text', OutputText: [{ Text: 'Hello' }] },
      },
    },
  );
  assert.equal(await conditionOf(print), 'DeviceOut');
  await terminal().stop();
  const strict = createTestTerminal({ loginRequired: true });
  assert.equal(await strict.conditionOf(paymentRequest(1)), 'LoggedOut');
  await strict.terminal().stop();
});

test('events reach the tills that are connected, and a cashier judges a signature', async () => {
  const harness = createTestTerminal();
  const { terminal, fake } = harness;
  const till = await cashierTill(harness, (message, channel) => {
    if (!isMessage(message, 'Input', 'Request')) return;
    const { Device, InfoQualify } = message.body.InputData;
    const Input = { InputCommand: 'GetConfirmation', ConfirmedFlag: false } as const;
    const body = { InputResult: { Device, InfoQualify, Response: { Result: 'Success' }, Input } };
    const header = { ...message.header, MessageType: 'Response' } as const;
    void terminal().receive(writeMessage({ header, body }), channel);
  });
  terminal().setCard('signature');
  await till.pay(paymentRequest(10));
  const answer = till.answer();
  assert.ok(answer);
  assert.equal(resultOf(answer)?.ErrorCondition, 'Refusal');
  assert.equal(fake.taken(), 0, 'it was taken back');
  assert.ok(till.sent.some((message) => isMessage(message, 'Display', 'Request')));
  terminal().setMaintenance(true);
  const event = till.sent.at(-1);
  assert.ok(event && isMessage(event, 'Event', 'Notification'));
  assert.equal(event.body.EventToNotify, 'BeginMaintenance');
  await terminal().stop();
});

// Spec: NEXO-63
test('each reversal has its own identifier, and a second full reversal answers already_refunded', async () => {
  const { terminal, ask } = createTestTerminal();
  for (const ReversalReason of ['MerchantCancel', 'Malfunction'] as const) {
    for (const isReserved of [false, true]) {
      const data = isReserved ? { PaymentData: { PaymentType: 'FirstReservation' } } : {};
      const { first: sold } = await ask(paymentRequest(10, data));
      assert.ok(sold && isMessage(sold, 'Payment', 'Response'));
      const original = sold.body.POIData?.POITransactionID;
      const reversal = () =>
        requestOf('Reversal', newAddress(), {
          OriginalPOITransaction: { POITransactionID: original },
          ReversalReason,
        } as never);
      const isCaptureReversed = !isReserved && ReversalReason === 'Malfunction';
      if (isCaptureReversed) continue;
      const { first: reversed } = await ask(reversal());
      assert.ok(reversed && isMessage(reversed, 'Reversal', 'Response'));
      assert.equal(reversed.body.Response.Result, 'Success', ReversalReason);
      const reversalId = reversed.body.POIData?.POITransactionID.TransactionID;
      assert.ok(reversalId !== undefined && reversalId !== original?.TransactionID);
      assert.deepEqual(reversed.body.OriginalPOITransaction?.POITransactionID, original);
      const { first: again } = await ask(reversal());
      assert.ok(again);
      assert.equal(resultOf(again)?.ErrorCondition, 'NotAllowed');
      assert.equal(reasonOf(again), 'already_refunded', `${ReversalReason} ${isReserved}`);
    }
  }
  await terminal().stop();
});

test('a refund without its original is refused as unreferenced_refund_not_supported', async () => {
  const { terminal, ask, fake } = createTestTerminal();
  const { first } = await ask(paymentRequest(3, { PaymentData: { PaymentType: 'Refund' } }));
  assert.ok(first);
  assert.equal(resultOf(first)?.ErrorCondition, 'NotAllowed');
  assert.equal(reasonOf(first), 'unreferenced_refund_not_supported');
  assert.equal(fake.operations.length, 0);
  await terminal().stop();
});

const reasonOf = (message: AnyMessage) =>
  new URLSearchParams(resultOf(message)?.AdditionalResponse).get('refusalReason');
