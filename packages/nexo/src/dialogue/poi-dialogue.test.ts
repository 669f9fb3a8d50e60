import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceIdRetentionMs, storedAnswersMax, storedServicesMax } from '../limits.ts';
import { answerTo, failureTo, requestOf } from '../messages/build-message.ts';
import { type AnyMessage, isMessage } from '../messages/message.ts';
import { readMessage } from '../messages/read-message.ts';
import { findFaults, writeMessage } from '../messages/write-message.ts';
import { resultOf } from './error-condition-advice.ts';
import {
  createPoiDialogue,
  type PoiDecision,
  type PoiDeps,
  type PoiDialogue,
} from './poi-dialogue.ts';
import { referenceTo } from './transaction-status.ts';

const at = '2026-03-01T10:00:00.000Z';
const start = Date.parse(at);
const poiId = 'terminal-1';
const to = (serviceId: string, saleId = 'till-3') => ({ saleId, poiId, serviceId });
const saleData = { SaleTransactionID: { TransactionID: '1', TimeStamp: at } };
const pay = (serviceId: string, saleId?: string) =>
  requestOf('Payment', to(serviceId, saleId), {
    SaleData: saleData,
    PaymentTransaction: { AmountsReq: { Currency: 'EUR', RequestedAmount: 12.5 } },
  });
const approved = (request: ReturnType<typeof pay>) =>
  answerTo(request, {
    Response: { Result: 'Success' },
    SaleData: saleData,
    POIData: { POITransactionID: { TransactionID: '99', TimeStamp: at } },
    PaymentResult: { AmountsResp: { AuthorizedAmount: 12.5 } },
  });
const login = (serviceId: string) =>
  requestOf('Login', to(serviceId), {
    DateTime: at,
    SaleSoftware: { ApplicationName: 'till', SoftwareVersion: '1' },
    OperatorLanguage: 'en',
  });
const statusOf = (serviceId: string, referenced?: AnyMessage) =>
  requestOf(
    'TransactionStatus',
    to(serviceId),
    referenced === undefined ? {} : { MessageReference: referenceTo(referenced.header) },
  );

function terminal(deps: Partial<PoiDeps> = {}) {
  let now = start;
  const poi = createPoiDialogue({ poiId, now: () => now, ...deps });
  return {
    poi,
    pass: (ms: number) => {
      now += ms;
    },
    receive: (message: AnyMessage) => receive(poi, writeMessage(message)),
  };
}

function receive(poi: PoiDialogue, text: string): PoiDecision {
  const reading = readMessage(text);
  assert.ok(reading.kind !== 'Protected');
  return poi.receive(reading, text);
}

/** What is sent is always well formed; its condition, or the name of the event. */
function describeDecision(decision: PoiDecision): string {
  if (decision.do !== 'Answer' && decision.do !== 'Notify') return decision.do;
  assert.deepEqual(findFaults(decision.message), []);
  if (isMessage(decision.message, 'Event', 'Notification')) {
    return decision.message.body.EventToNotify;
  }
  const result = resultOf(decision.message);
  return result?.ErrorCondition ?? String(result?.Result);
}

test('one service at a time: a second one is busy, until the first is finished', () => {
  const { poi, receive: get } = terminal();
  const first = pay('1');
  assert.equal(get(first).do, 'Run');
  assert.equal(poi.running()?.ServiceID, '1');
  assert.equal(describeDecision(get(pay('2'))), 'Busy');
  assert.equal(describeDecision(get(pay('1', 'till-4'))), 'Busy');
  poi.finish(approved(first));
  assert.equal(poi.running(), undefined);
  assert.equal(get(pay('3')).do, 'Run');
});

test('the terminal accepts Diagnosis, TransactionStatus and device messages of the service during a payment', () => {
  const { poi, receive: get } = terminal();
  const payment = pay('1');
  get(payment);
  assert.equal(get(requestOf('Diagnosis', to('9'), {})).do, 'Run');
  assert.equal(describeDecision(get(statusOf('8', payment))), 'InProgress');
  const display = (serviceId: string, deviceId: string) =>
    requestOf(
      'Display',
      { ...to(serviceId), deviceId },
      {
        DisplayOutput: [
          {
            Device: 'CustomerDisplay',
            InfoQualify: 'Display',
            OutputContent: { OutputFormat: 'Text', OutputText: [{ Text: 'Hello' }] },
          },
        ],
      },
    );
  assert.equal(get(display('1', '1')).do, 'Run');
  assert.equal(describeDecision(get(display('1', '1'))), 'Busy', 'the pair is under way');
  assert.equal(describeDecision(get(display('7', '2'))), 'Busy', 'belongs to no service that runs');
  const failure = failureTo(display('1', '1'), 'DeviceOut', { at });
  assert.ok(failure);
  poi.finish(failure);
  assert.equal(get(display('1', '1')).do, 'Run');
  assert.equal(poi.running()?.ServiceID, '1', 'a device message ends no service');
});

test('an identification is never run twice within 48 hours, and never answered twice', () => {
  const { poi, pass, receive: get } = terminal();
  const payment = pay('1');
  get(payment);
  assert.equal(describeDecision(get(payment)), 'Reject', 'while it runs');
  poi.finish(approved(payment));
  const again = get(payment);
  assert.equal(describeDecision(again), 'Reject', 'when it is over');
  assert.ok(again.do === 'Notify' && isMessage(again.message, 'Event', 'Notification'));
  const rejected = Buffer.from(again.message.body.RejectedMessage ?? '', 'base64').toString();
  assert.equal(rejected, writeMessage(payment));
  assert.equal(describeDecision(get(login('1'))), 'Reject', 'for another category too');
  assert.equal(get(pay('1', 'till-4')).do, 'Run', 'another sale system has its own');
  poi.finish(approved(pay('1', 'till-4')));
  pass(serviceIdRetentionMs - 1);
  assert.equal(describeDecision(get(payment)), 'Reject');
  pass(1);
  assert.equal(get(payment).do, 'Run');
});

test('a rejected ServiceID is used too: a late copy does not run', () => {
  const { poi, receive: get } = terminal();
  const first = pay('1');
  get(first);
  assert.equal(describeDecision(get(pay('2'))), 'Busy');
  poi.finish(approved(first));
  assert.equal(describeDecision(get(pay('2'))), 'Reject');
});

test('TransactionStatus repeats the answer, by reference or the last one', () => {
  const { poi, receive: get } = terminal();
  assert.equal(describeDecision(get(statusOf('90'))), 'NotFound', 'nothing was here');
  const first = pay('1');
  get(first);
  poi.finish(approved(first));
  const second = pay('2');
  get(second);
  get(pay('3'));
  assert.equal(
    describeDecision(get(statusOf('91'))),
    'InProgress',
    'the refused one is not the last',
  );
  for (const statusRequest of [statusOf('92', first), statusOf('92', first)]) {
    const decision = get(statusRequest);
    assert.equal(describeDecision(decision), 'Success');
    assert.ok(decision.do === 'Answer');
    assert.ok(isMessage(decision.message, 'TransactionStatus', 'Response'));
    const repeated = decision.message.body.RepeatedMessageResponse;
    assert.deepEqual(repeated?.MessageHeader, approved(first).header);
    assert.deepEqual(repeated?.RepeatedResponseMessageBody.PaymentResponse, approved(first).body);
  }
  assert.equal(describeDecision(get(statusOf('93', pay('4')))), 'NotFound');
  const other = requestOf('TransactionStatus', to('94'), {
    MessageReference: { MessageCategory: 'Reversal', ServiceID: '1' },
  });
  assert.equal(describeDecision(get(other)), 'NotFound', 'that was no reversal');
  const admin = requestOf('TransactionStatus', to('95'), {
    MessageReference: { MessageCategory: 'Admin', ServiceID: '1' },
  });
  assert.equal(describeDecision(get(admin)), 'NotAllowed');
});

test('TransactionStatus does not answer NotFound for a payment whose stored answer was dropped', () => {
  const { poi, receive: get } = terminal();
  for (let each = 0; each <= storedAnswersMax; each += 1) {
    const payment = pay(`p${each}`);
    assert.equal(get(payment).do, 'Run');
    poi.finish(approved(payment));
  }
  assert.equal(describeDecision(get(statusOf('90', pay('p0')))), 'NotAllowed');
  assert.equal(describeDecision(get(statusOf('91', pay('p1')))), 'Success');
  assert.equal(describeDecision(get(pay('p0'))), 'Reject');
});

test('the stored services survive a restart, and an open payment stays in progress until its result is known', () => {
  const before = terminal();
  const first = pay('1');
  before.receive(first);
  before.poi.finish(approved(first));
  const second = pay('2');
  before.receive(second);
  const storedMemory = JSON.parse(JSON.stringify(before.poi.memory())) as PoiDeps['memory'] &
    object;
  const { poi, receive: get } = terminal({ memory: storedMemory });
  assert.equal(poi.running(), undefined);
  assert.equal(describeDecision(get(statusOf('90', first))), 'Success');
  assert.equal(describeDecision(get(statusOf('91', second))), 'InProgress');
  assert.equal(describeDecision(get(second)), 'Reject');
  const failure = failureTo(second, 'Aborted', { at });
  assert.ok(failure);
  poi.finish(failure);
  const decision = get(statusOf('92', second));
  assert.equal(describeDecision(decision), 'Success');
});

test('the memory is bounded', () => {
  const services = Array.from({ length: storedServicesMax + 5 }, (_, each) => ({
    saleId: 'till-3',
    serviceId: `s${each}`,
    category: 'Payment' as const,
    at: start,
  }));
  const { poi, receive: get } = terminal({ memory: { services, loggedIn: [] } });
  get(pay('1'));
  assert.equal(poi.memory().services.length, storedServicesMax);
  assert.equal(poi.memory().services.at(-1)?.serviceId, '1');
});

test('an abort has no response: the service responds, or an event reports that it had ended', () => {
  const { poi, receive: get } = terminal();
  const abort = (referenced: AnyMessage, serviceId = '80') =>
    requestOf('Abort', to(serviceId), {
      MessageReference: referenceTo(referenced.header),
      AbortReason: 'customer left',
    });
  const payment = pay('1');
  assert.equal(describeDecision(get(abort(payment))), 'Reject', 'nothing runs');
  get(payment);
  const decision = get(abort(payment));
  assert.ok(decision.do === 'Abort');
  assert.deepEqual(decision.running, payment.header);
  const refusal = poi.cannotAbort(decision.message);
  assert.deepEqual(findFaults(refusal), []);
  assert.ok(isMessage(refusal, 'Event', 'Notification'));
  const rejected = Buffer.from(refusal.body.RejectedMessage ?? '', 'base64').toString();
  assert.deepEqual(JSON.parse(rejected), JSON.parse(writeMessage(abort(payment))));
  assert.equal(describeDecision(get(abort(pay('2')))), 'Reject', 'another one runs');
  const failure = failureTo(payment, 'Aborted', { at });
  assert.ok(failure);
  poi.finish(failure);
  assert.equal(describeDecision(get(abort(payment))), 'Completed');
  const reversal = requestOf('Reversal', to('5'), {
    OriginalPOITransaction: { POITransactionID: { TransactionID: '99', TimeStamp: at } },
    ReversalReason: 'CustCancel',
  });
  get(reversal);
  assert.equal(describeDecision(get(abort(reversal))), 'Reject', 'a reversal is not aborted');
});

test('where a login is wanted, services wait for it', () => {
  const { poi, receive: get } = terminal({ loginRequired: true });
  assert.equal(describeDecision(get(pay('1'))), 'LoggedOut');
  assert.equal(get(requestOf('Diagnosis', to('2'), {})).do, 'Run');
  assert.equal(describeDecision(get(statusOf('3'))), 'NotFound');
  const first = login('4');
  get(first);
  const refused = failureTo(first, 'NotAllowed', { at });
  assert.ok(refused);
  poi.finish(refused);
  assert.equal(describeDecision(get(pay('5'))), 'LoggedOut', 'a refused login is none');
  get(login('6'));
  poi.finish(answerTo(login('6'), { Response: { Result: 'Success' } }));
  assert.equal(get(pay('7')).do, 'Run');
  poi.finish(approved(pay('7')));
  assert.equal(
    describeDecision(get(pay('8', 'till-4'))),
    'LoggedOut',
    'each sale system for itself',
  );
  const logout = requestOf('Logout', to('9'), {});
  get(logout);
  poi.finish(answerTo(logout, { Response: { Result: 'Success' } }));
  assert.equal(describeDecision(get(pay('10'))), 'LoggedOut');
});

test('an invalid request is answered, an unreadable one is rejected by an event', () => {
  const { poi, receive: get } = terminal();
  const wrong = writeMessage(pay('1')).replace('12.5', '"12.5"');
  assert.equal(describeDecision(receive(poi, wrong)), 'MessageFormat');
  assert.equal(describeDecision(receive(poi, wrong)), 'Reject', 'its identification is used up');
  assert.equal(describeDecision(receive(poi, 'garbage')), 'Reject');
  const long = receive(poi, 'x'.repeat(100_000));
  assert.ok(long.do === 'Notify' && isMessage(long.message, 'Event', 'Notification'));
  assert.equal(long.message.body.RejectedMessage?.length, Math.ceil(65_536 / 3) * 4);
  const other = requestOf('Admin', { ...to('3'), poiId: 'terminal-2' }, {});
  assert.equal(describeDecision(get(other)), 'UnavailableDevice');
  assert.equal(get({ ...pay('4'), header: { ...pay('4').header } }).do, 'Run');
});

test('the terminal accepts an answer to its own device request only once', () => {
  const { poi, receive: get } = terminal();
  const event = { TimeStamp: at, EventToNotify: 'CardInserted' };
  assert.equal(get(requestOf('Event', to('1'), event)).do, 'Ignore', 'a terminal sends these');
  const input = requestOf(
    'Input',
    { ...to('1'), deviceId: '5' },
    {
      InputData: { Device: 'CashierInput', InfoQualify: 'Input', InputCommand: 'GetConfirmation' },
    },
  );
  const answer = answerTo(input, {
    InputResult: {
      Device: 'CashierInput',
      InfoQualify: 'Input',
      Response: { Result: 'Success' },
      Input: { InputCommand: 'GetConfirmation', ConfirmedFlag: true },
    },
  });
  assert.equal(get(answer).do, 'Ignore');
  poi.trackDeviceRequest(input);
  const accepted = get(answer);
  assert.deepEqual(accepted.do === 'Take' && accepted.request, input.header);
  assert.equal(get(answer).do, 'Ignore');
  assert.equal(get(approved(pay('1'))).do, 'Ignore');
});

// Spec: NEXO-62
test('a request to which no valid response exists is rejected and leaves no trace', () => {
  const { poi, receive: get } = terminal({ loginRequired: true });
  const altered = (change: Record<string, unknown>, message: AnyMessage = pay('1')): string => {
    const { header, body } = message;
    const name = `${header.MessageCategory}${header.MessageType}`;
    const MessageHeader = { ...header, ...change };
    return JSON.stringify({ SaleToPOIRequest: { MessageHeader, [name]: body } });
  };
  const sound = requestOf('Sound', { ...to('1'), deviceId: '5' }, {
    SoundAction: 'StopSound',
    ResponseMode: 'NotRequired',
  } as never);
  const noIds = { ServiceID: undefined, DeviceID: undefined };
  const unanswerable = {
    'a payment of class Device': altered({ MessageClass: 'Device', DeviceID: '5' }),
    'a payment of class Event': altered({ MessageClass: 'Event' }),
    'a device message of class Service': altered({ MessageClass: 'Service' }, sound),
    'a device message of class Event': altered({ MessageClass: 'Event' }, sound),
    'a device message without a device': altered(noIds, sound),
    'a payment without ServiceID': altered(noIds),
    'a notification of a payment': altered({ MessageType: 'Notification' }),
    'for another terminal': altered({ MessageClass: 'Event', POIID: 'terminal-2' }),
  };
  for (const [name, text] of Object.entries(unanswerable)) {
    assert.equal(describeDecision(receive(poi, text)), 'Reject', name);
  }
  const abort = requestOf('Abort', to('7'), {
    MessageReference: referenceTo(pay('1').header),
    AbortReason: 'customer left',
  });
  const elsewhere = { ...abort, header: { ...abort.header, POIID: 'terminal-2' } };
  assert.equal(describeDecision(get(elsewhere)), 'Reject', 'an abort has no response');
  assert.deepEqual(poi.memory().services, []);
});

test('a message that is still protected is rejected; a protected response is ignored', () => {
  const { poi } = terminal();
  const protectedText = (envelope: string, MessageType: string) =>
    JSON.stringify({
      [envelope]: {
        MessageHeader: { ...pay('1').header, MessageType },
        NexoBlob: 'AAAA',
        SecurityTrailer: {},
      },
    });
  const receiveText = (text: string) => poi.receive(readMessage(text), text);
  const decision = receiveText(protectedText('SaleToPOIRequest', 'Request'));
  assert.equal(describeDecision(decision), 'Reject');
  assert.ok(decision.do === 'Notify');
  assert.equal(decision.message.body['EventDetails'], 'cannot be decrypted');
  assert.equal(receiveText(protectedText('SaleToPOIResponse', 'Response')).do, 'Ignore');
  assert.deepEqual(poi.memory().services, []);
});
