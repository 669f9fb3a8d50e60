import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceIdRetentionMs } from '../limits.ts';
import { answerTo, failureTo, requestOf } from '../messages/build-message.ts';
import {
  type AnyMessage,
  bodyMemberOf,
  type Header,
  isMessage,
  type Message,
} from '../messages/message.ts';
import { readMessage } from '../messages/read-message.ts';
import { writeMessage } from '../messages/write-message.ts';
import { buildRejectNotification } from './event-notifications.ts';
import {
  createSaleDialogue,
  type SaleDeps,
  type SaleDialogue,
  type SaleStep,
} from './sale-dialogue.ts';

const at = '2026-03-01T10:00:00.000Z';
const start = Date.parse(at);
const saleData = { SaleTransactionID: { TransactionID: '1', TimeStamp: at } };
const paymentBody = {
  SaleData: saleData,
  PaymentTransaction: { AmountsReq: { Currency: 'EUR', RequestedAmount: 12.5 } },
};
const sent = (step: SaleStep): AnyMessage => {
  assert.ok(step.do === 'Send', JSON.stringify(step));
  assert.ok(writeMessage(step.message));
  return step.message;
};

function till(deps: Partial<SaleDeps> = {}) {
  let now = start;
  let ids = 0;
  const nextServiceId = () => {
    ids += 1;
    return String(ids);
  };
  const names = { saleId: 'till-3', poiId: 'terminal-1' };
  const sale = createSaleDialogue({ ...names, now: () => now, nextServiceId, ...deps });
  return {
    sale,
    pass: (ms: number) => {
      now += ms;
      return sale.tick();
    },
    pay: () => sent(sale.begin('Payment', paymentBody)) as Message<'Payment', 'Request'>,
  };
}

function receive(sale: SaleDialogue, message: AnyMessage | string): SaleStep {
  const reading = readMessage(typeof message === 'string' ? message : writeMessage(message));
  assert.ok(reading.kind !== 'Protected');
  return sale.receive(reading);
}

const approved = (request: Message<'Payment', 'Request'>) =>
  answerTo(request, {
    Response: { Result: 'Success' },
    SaleData: saleData,
    POIData: { POITransactionID: { TransactionID: '99', TimeStamp: at } },
    PaymentResult: { AmountsResp: { AuthorizedAmount: 12.5 } },
  });
function failed(request: AnyMessage, condition: string): AnyMessage {
  const failure = failureTo(request, condition, { at });
  assert.ok(failure);
  return failure;
}
const repeats = (status: AnyMessage, repeated: AnyMessage) =>
  answerTo(status as Message<'TransactionStatus', 'Request'>, {
    Response: { Result: 'Success' },
    RepeatedMessageResponse: {
      MessageHeader: repeated.header,
      RepeatedResponseMessageBody: { [bodyMemberOf(repeated.header)]: repeated.body },
    },
  });
const outcomeOf = (step: SaleStep): string => (step.do === 'Finish' ? step.outcome : step.do);

test('a service is ended by its own answer, and by no other', () => {
  const { sale, pay } = till();
  const payment = pay();
  assert.deepEqual(sale.journal(), { header: payment.header, at: start });
  assert.equal(sale.begin('Payment', paymentBody).do, 'Refuse');
  for (const change of [{ ServiceID: '77' }, { SaleID: 'till-4' }, { POIID: 'terminal-2' }]) {
    const header = { ...payment.header, ...change } as Message<'Payment', 'Request'>['header'];
    assert.equal(receive(sale, approved({ ...payment, header })).do, 'Ignore');
  }
  const other = requestOf(
    'Reversal',
    { saleId: 'till-3', poiId: 'terminal-1', serviceId: '1' },
    {
      OriginalPOITransaction: {},
      ReversalReason: 'CustCancel',
    },
  );
  assert.equal(receive(sale, failed(other, 'Refusal')).do, 'Ignore', 'of another category');
  const step = receive(sale, approved(payment));
  assert.equal(outcomeOf(step), 'Answered');
  assert.equal(sale.journal(), undefined);
  assert.equal(sale.due(), undefined);
  assert.equal(receive(sale, approved(payment)).do, 'Ignore', 'a copy');
  assert.equal(sale.begin('Payment', paymentBody).do, 'Send');
});

test('a refusal is an answer like any other', () => {
  const { sale, pay } = till();
  const step = receive(sale, failed(pay(), 'Refusal'));
  assert.equal(outcomeOf(step), 'Answered');
});

test('without a response in time the outcome is requested until it is repeated', () => {
  const { sale, pay, pass } = till({ times: { answerMs: 120_000 } });
  const payment = pay();
  assert.equal(sale.due(), start + 120_000);
  assert.equal(pass(119_999).do, 'Wait');
  const status = sent(pass(1));
  assert.ok(isMessage(status, 'TransactionStatus', 'Request'));
  assert.equal(status.body.MessageReference?.ServiceID, payment.header.ServiceID);
  assert.equal(status.body.MessageReference?.MessageCategory, 'Payment');
  assert.notEqual(status.header.ServiceID, payment.header.ServiceID);
  assert.equal(receive(sale, failed(status, 'InProgress')).do, 'Wait');
  assert.equal(pass(4_999).do, 'Wait');
  const second = sent(pass(1));
  assert.equal(receive(sale, failed(second, 'Busy')).do, 'Wait');
  const third = sent(pass(5_000));
  const step = receive(sale, repeats(third, approved(payment)));
  assert.equal(outcomeOf(step), 'Answered');
  assert.ok(step.do === 'Finish' && step.outcome === 'Answered');
  assert.deepEqual(step.message, approved(payment));
});

test('the outcome of a batch is requested, and only its own response proves it', () => {
  const batchBody = { TransactionToPerform: [] };
  const begin = () => {
    const { sale } = till();
    const batch = sent(sale.begin('Batch', batchBody));
    assert.ok(isMessage(batch, 'Batch', 'Request'));
    const status = sent(sale.lost());
    assert.ok(isMessage(status, 'TransactionStatus', 'Request'));
    assert.equal(status.body.MessageReference?.MessageCategory, 'Batch');
    return { sale, batch, status };
  };
  const { sale, batch, status } = begin();
  const answer = answerTo(batch, {
    Response: { Result: 'Partial', ErrorCondition: 'Aborted' },
    PerformedTransaction: [],
  });
  const step = receive(sale, repeats(status, answer as AnyMessage));
  assert.ok(step.do === 'Finish' && step.outcome === 'Answered');
  assert.deepEqual(step.message, answer);
  for (const condition of ['NotFound', 'NotAllowed'] as const) {
    const other = begin();
    assert.equal(outcomeOf(receive(other.sale, failed(other.status, condition))), 'Unknown');
  }
});

test('the response itself may arrive while the outcome is requested', () => {
  const { sale, pay } = till();
  const payment = pay();
  sent(sale.lost());
  assert.equal(outcomeOf(receive(sale, approved(payment))), 'Answered');
});

test('a repeated response must match the service and a sent status request', () => {
  const { sale, pay } = till();
  const payment = pay();
  const status = sent(sale.lost());
  const older = { ...payment, header: { ...payment.header, ServiceID: '0' } };
  assert.equal(receive(sale, repeats(status, approved(older))).do, 'Wait');
  const strange = { ...status, header: { ...status.header, ServiceID: '55' } };
  assert.equal(receive(sale, repeats(strange, approved(payment))).do, 'Ignore');
  assert.equal(receive(sale, repeats(status, approved(payment))).do, 'Ignore', 'asked once');
});

test('NotFound counts when it is said twice in a row, by a terminal that repeats the previous answer', () => {
  const { sale, pay, pass } = till();
  const previous = pay();
  receive(sale, approved(previous));
  const payment = pay();
  const first = sent(sale.lost());
  assert.equal(receive(sale, failed(first, 'NotFound')).do, 'Wait');
  const second = sent(pass(5_000));
  assert.equal(receive(sale, failed(second, 'InProgress')).do, 'Wait', 'it had arrived meanwhile');
  const third = sent(pass(5_000));
  assert.equal(receive(sale, failed(third, 'NotFound')).do, 'Wait');
  const fourth = sent(pass(5_000));
  const proof = sent(receive(sale, failed(fourth, 'NotFound')));
  assert.ok(isMessage(proof, 'TransactionStatus', 'Request'));
  assert.equal(proof.body.MessageReference?.ServiceID, previous.header.ServiceID);
  assert.equal(receive(sale, failed(proof, 'Busy')).do, 'Wait');
  const again = sent(pass(5_000));
  assert.equal(outcomeOf(receive(sale, repeats(again, approved(previous)))), 'NotProcessed');
  const late = receive(sale, approved(payment));
  assert.equal(late.do, 'Late', 'a later sign of processing is reported');
});

test('NotFound of a terminal that may have lost its memory leaves the outcome unknown', () => {
  const unknown = { outcome: 'Unknown', condition: 'NotFound' };
  for (const condition of ['NotFound', 'NotAllowed', undefined]) {
    const { sale, pay, pass } = till();
    const previous = pay();
    receive(sale, approved(previous));
    const { header: request } = pay();
    receive(sale, failed(sent(sale.lost()), 'NotFound'));
    const proof = sent(receive(sale, failed(sent(pass(5_000)), 'NotFound')));
    const other = { ...previous, header: { ...previous.header, ServiceID: '0' } };
    const answer =
      condition === undefined ? repeats(proof, approved(other)) : failed(proof, condition);
    assert.deepEqual(receive(sale, answer), { do: 'Finish', request, ...unknown });
  }
  // The first service of a terminal: no earlier answer can prove that the memory is intact.
  const { sale, pay, pass } = till();
  const { header: request } = pay();
  receive(sale, failed(sent(sale.lost()), 'NotFound'));
  const step = receive(sale, failed(sent(pass(5_000)), 'NotFound'));
  assert.deepEqual(step, { do: 'Finish', request, ...unknown });
});

test('another terminal is not asked for the outcome of a service', () => {
  const { header } = till().pay();
  const journal = { header: { ...header, POIID: 'terminal-0' }, at: start };
  assert.equal(outcomeOf(till({ journal }).sale.tick()), 'Unknown');
});

test('NotFound for an old service does not mean that it was not processed', () => {
  const before = till();
  const previous = before.pay();
  receive(before.sale, approved(previous));
  const { header } = before.pay();
  const lastAnswered = previous.header;
  const ages = [
    [serviceIdRetentionMs - 5_001, 'Send'],
    [serviceIdRetentionMs - 5_000, 'Unknown'],
    [60 * serviceIdRetentionMs, 'Unknown'],
    // The clock was set back, so the age is unknown.
    [-5_001, 'Unknown'],
  ] as const;
  for (const [age, outcome] of ages) {
    const { sale, pass } = till({ journal: { header, at: start - age }, lastAnswered });
    assert.equal(receive(sale, failed(sent(sale.tick()), 'NotFound')).do, 'Wait');
    const step = receive(sale, failed(sent(pass(5_000)), 'NotFound'));
    assert.equal(outcomeOf(step), outcome, `${age} ms old`);
  }
});

test('an undetermined outcome is unknown, never a refusal', () => {
  const { sale, pay, pass } = till();
  pay();
  sent(sale.lost());
  let step: SaleStep = { do: 'Wait' };
  let questions = 0;
  for (let each = 0; each < 60 && step.do !== 'Finish'; each += 1) {
    step = pass(5_000);
    if (step.do !== 'Send') continue;
    questions += 1;
    assert.equal(receive(sale, failed(step.message, 'NotAllowed')).do, 'Wait');
  }
  assert.equal(outcomeOf(step), 'Unknown');
  assert.equal(questions, 29);
});

test('after a restart the outcome is requested first', () => {
  const before = till();
  const payment = before.pay();
  const journal = JSON.parse(JSON.stringify(before.sale.journal())) as {
    header: Header;
    at: number;
  };
  const { sale } = till({ journal });
  assert.equal(sale.begin('Payment', paymentBody).do, 'Refuse');
  assert.equal(sale.due(), start);
  const status = sent(sale.tick());
  assert.equal(outcomeOf(receive(sale, repeats(status, approved(payment)))), 'Answered');
  assert.equal(JSON.stringify(journal).includes('RequestedAmount'), false);
});

test('a service that another dialogue left unknown is late here, an answered one is not', () => {
  const before = till();
  const payment = before.pay();
  const { sale } = till();
  assert.equal(receive(sale, approved(payment)).do, 'Ignore', 'it is known to nobody');
  sale.markEnded(payment.header, 'Unknown');
  assert.equal(receive(sale, approved(payment)).do, 'Late');
  sale.markEnded(payment.header, 'Answered');
  assert.equal(receive(sale, approved(payment)).do, 'Ignore');
});

test('a category without TransactionStatus is unknown at once, an unsent service is not processed', () => {
  const { sale } = till();
  const totals = () => sale.begin('Reconciliation', { ReconciliationType: 'SaleReconciliation' });
  sent(totals());
  assert.equal(outcomeOf(sale.lost()), 'Unknown');
  sent(totals());
  assert.equal(outcomeOf(sale.notSent()), 'NotProcessed');
  assert.equal(sale.lost().do, 'Wait');
  assert.equal(sale.notSent().do, 'Ignore');
});

test('an abort ends nothing: the answer is awaited', () => {
  const { sale, pay } = till();
  assert.equal(sale.abort('early').do, 'Refuse');
  const payment = pay();
  const abort = sent(sale.abort('customer left'));
  assert.ok(isMessage(abort, 'Abort', 'Request'));
  assert.equal(abort.body.MessageReference.ServiceID, payment.header.ServiceID);
  const completed = requestOf(
    'Event',
    { saleId: 'till-3', poiId: 'terminal-1' },
    {
      TimeStamp: at,
      EventToNotify: 'Completed',
    },
  );
  assert.equal(receive(sale, completed).do, 'Event');
  const tooLate = buildRejectNotification(
    writeMessage(abort),
    { saleId: 'till-3', poiId: 'terminal-1' },
    { at },
  );
  assert.equal(receive(sale, tooLate).do, 'Event');
  assert.ok(sale.journal());
  const step = receive(sale, approved(payment));
  assert.equal(outcomeOf(step), 'Answered', 'it was too late, and money was taken');
});

test('the outcome of a rejected request is requested at once', () => {
  const { sale, pay } = till();
  const payment = pay();
  const unknownParties = { saleId: 'N/A', poiId: 'N/A' };
  const other = buildRejectNotification('garbage', unknownParties, { at });
  assert.equal(receive(sale, other).do, 'Event');
  const status = sent(
    receive(sale, buildRejectNotification(writeMessage(payment), unknownParties, { at })),
  );
  assert.equal(status.header.MessageCategory, 'TransactionStatus');
  assert.equal(
    receive(sale, buildRejectNotification(writeMessage(payment), unknownParties, { at })).do,
    'Event',
  );
});

test('the till can send up to 16 diagnosis requests while a payment is open', () => {
  const { sale, pay } = till();
  const payment = pay();
  const diagnosis = sent(sale.begin('Diagnosis', { HostDiagnosisFlag: true }));
  const answer = answerTo(diagnosis as Message<'Diagnosis', 'Request'>, {
    Response: { Result: 'Success' },
    POIStatus: { GlobalStatus: 'Busy' },
  });
  const step = receive(sale, answer);
  assert.deepEqual(step.do === 'Finish' && step.request, diagnosis.header);
  assert.equal(receive(sale, answer).do, 'Ignore');
  assert.ok(sale.journal());
  for (let each = 0; each < 16; each += 1) sent(sale.begin('Diagnosis', {}));
  assert.equal(sale.begin('Diagnosis', {}).do, 'Refuse');
  assert.equal(outcomeOf(receive(sale, approved(payment))), 'Answered');
});

test('a diagnosis request without an answer in time ends as Unknown, and the next request is possible', () => {
  const { sale, pass, pay } = till({ times: { answerMs: 1_000 } });
  const diagnoses = [1, 2].map(() => sent(sale.begin('Diagnosis', {})));
  assert.equal(sale.due(), start + 1_000);
  for (const [ms, message] of [1_000, 0].map((each, at) => [each, diagnoses[at]] as const)) {
    const step = pass(ms);
    assert.ok(step.do === 'Finish' && step.outcome === 'Unknown');
    assert.deepEqual(step.request, message?.header);
  }
  assert.equal(sale.due(), undefined);
  const question = sent(sale.begin('Diagnosis', {}));
  pay();
  const first = sale.lost();
  assert.equal(outcomeOf(first), 'Unknown', 'lost with the connection');
  assert.deepEqual(first.do === 'Finish' && first.request, question.header);
  assert.equal(sent(pass(0)).header.MessageCategory, 'TransactionStatus');
});

test('a terminal may add a DeviceID to the answer of a service', () => {
  const { sale, pay } = till();
  const answer = approved(pay());
  const step = receive(sale, { ...answer, header: { ...answer.header, DeviceID: '286881016' } });
  assert.equal(outcomeOf(step), 'Answered');
});

test('requests of the terminal are handed on', () => {
  const { sale, pay } = till();
  const payment = pay();
  const { ServiceID } = payment.header;
  const display = requestOf(
    'Display',
    { saleId: 'till-3', poiId: 'terminal-1', serviceId: String(ServiceID), deviceId: '1' },
    {
      DisplayOutput: [
        {
          Device: 'CashierDisplay',
          InfoQualify: 'Status',
          OutputContent: { OutputFormat: 'Text', OutputText: [{ Text: 'PIN' }] },
        },
      ],
    },
  );
  assert.equal(receive(sale, display).do, 'Serve');
  assert.equal(sale.begin('Display' as 'Payment', paymentBody).do, 'Refuse');
});

test('an invalid response with a result ends the service, one without a result leads to a status request', () => {
  const { sale, pay } = till();
  const damaged = (request: Message<'Payment', 'Request'>): string =>
    writeMessage(approved(request)).replace('12.5', '"12.5"');
  const step = receive(sale, damaged(pay()));
  assert.equal(outcomeOf(step), 'Faulty');
  assert.deepEqual(step.do === 'Finish' && step.outcome === 'Faulty' && step.response, {
    Result: 'Success',
  });
  const second = pay();
  const mute = writeMessage(approved(second)).replace('"Success"', '"Sure"');
  assert.equal(sent(receive(sale, mute)).header.MessageCategory, 'TransactionStatus');
  assert.equal(receive(sale, 'garbage').do, 'Ignore');
});

test('only the sender can end a held service, and its time limit starts when it is sent', () => {
  const { sale, pass } = till({ times: { answerMs: 120_000 } });
  const payment = sent(sale.begin('Payment', paymentBody, 'Held')) as Message<'Payment', 'Request'>;
  assert.deepEqual(sale.journal(), { header: payment.header, at: start });
  assert.equal(sale.begin('Payment', paymentBody).do, 'Refuse');
  assert.equal(sale.due(), undefined);
  assert.equal(sale.lost().do, 'Wait', 'nothing was sent that could be lost');
  assert.equal(pass(120_000).do, 'Wait');
  assert.equal(sale.abort('too late').do, 'Refuse');
  assert.equal(receive(sale, approved(payment)).do, 'Ignore', 'an answer to what was not asked');
  sale.sending();
  assert.equal(sale.due(), start + 240_000);
  assert.equal(pass(119_999).do, 'Wait');
  assert.ok(isMessage(sent(sale.lost()), 'TransactionStatus', 'Request'));
  assert.equal(outcomeOf(receive(sale, approved(payment))), 'Answered');
});

test('a diagnosis request beside a held payment ends as Unknown when the connection breaks', () => {
  const { sale } = till();
  sent(sale.begin('Payment', paymentBody, 'Held'));
  const question = sent(sale.begin('Diagnosis', {}, 'Held'));
  const step = sale.lost();
  assert.ok(step.do === 'Finish' && step.request.ServiceID === question.header.ServiceID);
  assert.equal(step.outcome, 'Unknown');
  assert.equal(outcomeOf(sale.notSent()), 'NotProcessed');
  sale.sending();
  assert.equal(sale.journal(), undefined);
});
