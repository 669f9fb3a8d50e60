import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { closeCodes } from '@switchyard/contract';
import {
  type AnyMessage,
  buildEventNotification,
  createProtection,
  requestOf,
  writeMessage,
} from '@switchyard/nexo';
import { authorizedAmount, requireSuccess, type ServiceStore } from '../index.ts';
import type { FakeConnector } from '../testing/fake-connector.fixture.ts';
import { createFakeTerminal } from '../testing/fake-terminal.fixture.ts';
import {
  createPosWithTerminal,
  isPosError,
  order,
  poiId,
  saleId,
  startLocalTerminal,
} from '../testing/pos-with-terminal.fixture.ts';
import { waitUntil } from '../testing/wait-until.fixture.ts';

const key = { identifier: 'store-7', version: 1, passphrase: 'correct horse battery' };

// Spec: SVC-28
test('a sale in minor units is paid and returns the authorised amount in minor units', async (t) => {
  const { createTerminal, fakeTerminal, store } = await createPosWithTerminal(t);
  const terminal = createTerminal();
  assert.deepEqual(await terminal.open(), []);
  const answer = await terminal.sale({ ...order, tip: 50 });
  assert.equal(answer.result, 'Success');
  assert.equal(authorizedAmount(answer.message, 'EUR'), 1250);
  const [ran] = fakeTerminal.services;
  assert.ok(ran);
  const { AmountsReq } = ran.body['PaymentTransaction'] as { AmountsReq: unknown };
  assert.deepEqual(AmountsReq, { Currency: 'EUR', RequestedAmount: 12.5, TipAmount: 0.5 });
  const [service] = await store.load();
  assert.equal(service?.outcome, 'Answered');
  assert.equal(service?.serviceId, answer.serviceId);
  assert.equal(service?.transactionId, '4711');
  assert.doesNotMatch(JSON.stringify(service), /12\.5|1250/);
  await terminal.close();
});

test('a stored refund or reversal names the payment that it is about', async (t) => {
  const { createTerminal, store } = await createPosWithTerminal(t);
  const terminal = createTerminal();
  await terminal.open();
  const original = { poiTransactionId: 'P-1', poiTimeStamp: '2026-03-01T10:00:00.000Z' };
  await terminal.refund({ ...order, transactionId: '4712', original });
  await terminal.reverse({ ...original, reason: 'CustCancel' });
  const services = await store.load();
  assert.deepEqual(
    services.map((each) => [each.transactionId, each.originalTransactionId]),
    [
      ['4712', 'P-1'],
      [undefined, 'P-1'],
    ],
  );
  await terminal.close();
});

test('a service is stored before it is sent', async (t) => {
  const { createTerminal, fakeTerminal, store } = await createPosWithTerminal(t);
  let release: () => void = () => {};
  const written = new Promise<void>((resolve) => {
    release = resolve;
  });
  let saved = 0;
  const slow: ServiceStore = {
    ...store,
    async save(kept) {
      saved += 1;
      if (saved === 1) await written;
      await store.save(kept);
    },
  };
  const terminal = createTerminal({ store: slow });
  await terminal.open();
  const pending = terminal.sale(order);
  await waitUntil(() => saved === 1, 'the store received the service');
  assert.deepEqual(fakeTerminal.receivedCategories, []);
  release();
  assert.equal((await pending).result, 'Success');
});

test('a service that cannot be stored is not sent', async (t) => {
  const { createTerminal, fakeTerminal, store } = await createPosWithTerminal(t);
  const full = () => {
    throw new Error('the disk is full');
  };
  const terminal = createTerminal({ store: { ...store, save: full } });
  await terminal.open();
  await assert.rejects(terminal.sale(order), isPosError('Invalid', 'store_failed', 'NotProcessed'));
  assert.deepEqual(fakeTerminal.receivedCategories, []);
});

test('services run one after the other; a diagnosis runs in parallel', async (t) => {
  const { createTerminal, fakeTerminal } = await createPosWithTerminal(t);
  fakeTerminal.holdsAnswers = true;
  const terminal = createTerminal();
  await terminal.open();
  const first = terminal.sale(order);
  await waitUntil(() => fakeTerminal.services.length === 1, 'the first');
  const second = terminal.sale({ ...order, transactionId: '4712' });
  const stop = new AbortController();
  const third = terminal.sale(order, { signal: stop.signal });
  stop.abort();
  await assert.rejects(third, isPosError('Aborted', 'aborted', 'NotProcessed'));
  const pending = terminal.request('Diagnosis', {});
  await waitUntil(() => fakeTerminal.receivedCategories.includes('Diagnosis'), 'the diagnosis');
  assert.equal(
    fakeTerminal.services.filter(({ header }) => header.MessageCategory === 'Payment').length,
    1,
  );
  assert.equal((await pending).result, 'Success');
  fakeTerminal.holdsAnswers = false;
  fakeTerminal.send(fakeTerminal.finish());
  const answers = await Promise.all([first, second]);
  assert.notEqual(answers[0].serviceId, answers[1].serviceId);
  assert.deepEqual(fakeTerminal.receivedCategories, ['Payment', 'Diagnosis', 'Payment']);
});

test('a decline is a response; requireSuccess throws for it', async (t) => {
  const { createTerminal, fakeTerminal } = await createPosWithTerminal(t);
  fakeTerminal.holdsAnswers = true;
  const terminal = createTerminal();
  await terminal.open();
  const pending = terminal.sale(order);
  await waitUntil(() => fakeTerminal.services.length === 1, 'the sale');
  fakeTerminal.send(fakeTerminal.finish('Refusal'));
  const answer = await pending;
  assert.deepEqual(
    [answer.result, answer.condition, answer.advice],
    ['Failure', 'Refusal', 'Never'],
  );
  assert.throws(() => requireSuccess(answer), isPosError('Terminal', 'refused', 'NotProcessed'));
});

test('an abort is sent and the real response awaited', async (t) => {
  const { createTerminal, fakeTerminal } = await createPosWithTerminal(t);
  fakeTerminal.holdsAnswers = true;
  const terminal = createTerminal();
  await terminal.open();
  const stop = new AbortController();
  const pending = terminal.sale(order, { signal: stop.signal });
  await waitUntil(() => fakeTerminal.services.length === 1, 'the sale');
  stop.abort();
  const answer = await pending;
  assert.equal(answer.condition, 'Aborted');
  assert.deepEqual(fakeTerminal.receivedCategories, ['Payment', 'Abort']);
});

test('a session that breaks during a sale is resumed and the outcome requested', async (t) => {
  const { createTerminal, fakeTerminal, connector } = await createPosWithTerminal(t);
  fakeTerminal.holdsAnswers = true;
  const terminal = createTerminal();
  await terminal.open();
  const pending = terminal.sale(order);
  await waitUntil(() => fakeTerminal.services.length === 1, 'the sale');
  fakeTerminal.finish();
  connector.sessions[0]?.close(closeCodes.deviceDisconnected, 'device_disconnected');
  const answer = await pending;
  assert.equal(answer.result, 'Success');
  assert.equal(authorizedAmount(answer.message, 'EUR'), 1250);
  assert.deepEqual(fakeTerminal.receivedCategories, ['Payment', 'TransactionStatus']);
  assert.equal(connector.receivedMessages.at(-1)?.['resumeToken'], 'resume-1');
  assert.equal(fakeTerminal.services.length, 1);
});

test('an unreachable terminal leaves the outcome unknown, and recover can request it later', async (t) => {
  const { createTerminal, fakeTerminal, connector, clock, store } = await createPosWithTerminal(t);
  fakeTerminal.holdsAnswers = true;
  const terminal = createTerminal();
  await terminal.open();
  const pending = terminal.sale(order);
  await waitUntil(() => fakeTerminal.services.length === 1, 'the sale');
  connector.isOnline = false;
  connector.sessions[0]?.close(closeCodes.deviceDisconnected, 'device_disconnected');
  await waitUntil(() => connector.receivedMessages.length > 1, 'a claim');
  const refused = assert.rejects(pending, isPosError('Terminal', 'outcome_unknown', 'Unknown'));
  let isOver = false;
  void refused.then(() => {
    isOver = true;
  });
  await waitUntil(() => {
    if (!isOver && clock.waits().includes(5_000)) clock.advance(5_000);
    return isOver;
  }, 'the end of asking');
  const [service] = terminal.unknownServices();
  assert.ok(service);
  fakeTerminal.finish();
  connector.isOnline = true;
  const recovered = await terminal.recover(service.serviceId);
  assert.equal(recovered.outcome, 'Answered');
  assert.equal(recovered.message?.header.ServiceID, service.serviceId);
  assert.deepEqual(terminal.unknownServices(), []);
  assert.equal((await store.load())[0]?.outcome, 'Answered');
});

// Spec: NEXO-45
test('after a restart during a sale, open requests the outcome from the terminal', async (t) => {
  const { createTerminal, fakeTerminal } = await createPosWithTerminal(t);
  fakeTerminal.holdsAnswers = true;
  const before = createTerminal();
  await before.open();
  const pending = before.sale(order);
  await waitUntil(() => fakeTerminal.services.length === 1, 'the sale');
  const ended = assert.rejects(pending, isPosError('Invalid', 'closed', 'Unknown'));
  await before.close();
  await ended;
  fakeTerminal.finish();
  fakeTerminal.holdsAnswers = false;
  const after = createTerminal();
  const [recovered] = await after.open();
  assert.equal(recovered?.outcome, 'Answered');
  assert.equal(recovered?.message?.header.MessageCategory, 'Payment');
  const next = await after.sale(order);
  assert.ok(next.serviceId > (recovered?.service.serviceId ?? ''));
  assert.equal(fakeTerminal.services.length, 2);
});

test('open returns the response of a batch that a restart interrupted', async (t) => {
  const { createTerminal, fakeTerminal } = await createPosWithTerminal(t);
  fakeTerminal.holdsAnswers = true;
  const before = createTerminal();
  await before.open();
  const pending = before.request('Batch', { TransactionToPerform: [] });
  await waitUntil(() => fakeTerminal.services.length === 1, 'the batch');
  const ended = assert.rejects(pending, isPosError('Invalid', 'closed', 'Unknown'));
  await before.close();
  await ended;
  fakeTerminal.finish();
  const [recovered] = await createTerminal().open();
  assert.equal(recovered?.outcome, 'Answered');
  assert.deepEqual(recovered?.message?.body, { Response: { Result: 'Success' } });
  assert.equal(recovered?.message?.header.MessageCategory, 'Batch');
  assert.equal(fakeTerminal.services.length, 1, 'the batch is not performed again');
});

/** A till that restarts after its process ended during a sale, with an offline terminal. */
async function restartedPos(t: TestContext) {
  const pos = await createPosWithTerminal(t);
  pos.fakeTerminal.holdsAnswers = true;
  const before = pos.createTerminal();
  await before.open();
  const ended = assert.rejects(before.sale(order), isPosError('Invalid', 'closed', 'Unknown'));
  await waitUntil(() => pos.fakeTerminal.services.length === 1, 'the sale');
  await before.close();
  await ended;
  pos.fakeTerminal.finish();
  pos.connector.isOnline = false;
  const bringTerminalOnline = () => {
    pos.connector.isOnline = true;
    pos.clock.advance(5_000);
  };
  const untilNextRequest = () =>
    waitUntil(() => pos.clock.waits().includes(5_000), 'a next question');
  return {
    ...pos,
    terminal: pos.createTerminal(),
    comesBack: bringTerminalOnline,
    asksAgain: untilNextRequest,
  };
}
const isAborted = isPosError('Aborted', 'aborted', 'NotProcessed');

// Spec: NEXO-44
test('an aborted open sends no more requests, and the next open starts again', async (t) => {
  const { terminal, comesBack, asksAgain, store, fakeTerminal } = await restartedPos(t);
  const stop = new AbortController();
  const pending = terminal.open({ signal: stop.signal });
  await asksAgain();
  stop.abort();
  const next = terminal.open();
  await assert.rejects(pending, isAborted);
  await assert.rejects(terminal.open({ signal: stop.signal }), isAborted);
  assert.equal((await store.load())[0]?.outcome, undefined, 'the outcome is not stored');
  await asksAgain();
  comesBack();
  const [recovered] = await next;
  assert.equal(recovered?.outcome, 'Answered');
  assert.equal(fakeTerminal.services.length, 1, 'it was paid once');
});

test('a shared open continues for its remaining callers', async (t) => {
  const { terminal, comesBack, asksAgain } = await restartedPos(t);
  const stop = new AbortController();
  const [abortedOpen, service] = [terminal.open({ signal: stop.signal }), terminal.open()];
  await asksAgain();
  stop.abort();
  await assert.rejects(abortedOpen, isAborted);
  comesBack();
  assert.equal((await service)[0]?.outcome, 'Answered');
});

// Spec: NEXO-44
test('an aborted recovery leaves the outcome unknown', async (t) => {
  const { terminal, asksAgain, clock, connector, client } = await restartedPos(t);
  let isOver = false;
  const opened = terminal.open().then((recovered) => {
    isOver = true;
    return recovered;
  });
  await waitUntil(() => {
    if (!isOver && clock.waits().includes(5_000)) clock.advance(5_000);
    return isOver;
  }, 'the end of asking');
  const [first] = await opened;
  assert.equal(first?.outcome, 'Unknown');
  const serviceId = first?.service.serviceId ?? '';
  const stop = new AbortController();
  const pending = terminal.recover(serviceId, { signal: stop.signal });
  await asksAgain();
  stop.abort();
  await assert.rejects(pending, isAborted);
  assert.deepEqual(
    terminal.unknownServices().map((service) => service.serviceId),
    [serviceId],
  );
  // The connector answers in order, so the earlier requests are answered by now.
  await client.status(poiId);
  connector.isOnline = true;
  assert.equal((await terminal.recover(serviceId)).outcome, 'Answered');
});

// Spec: NEXO-48
test('the response to a service reported as unknown is reported as late', async (t) => {
  const { createTerminal, fakeTerminal, clock, connector } = await createPosWithTerminal(t);
  fakeTerminal.holdsAnswers = true;
  const before = createTerminal();
  await before.open();
  const ended = assert.rejects(before.sale(order), isPosError('Invalid', 'closed', 'Unknown'));
  await waitUntil(() => fakeTerminal.services.length === 1, 'the sale');
  await before.close();
  await ended;
  const late: AnyMessage[] = [];
  const terminal = createTerminal({ onLateResponse: (message) => late.push(message) });
  let isOver = false;
  const opened = terminal.open().finally(() => {
    isOver = true;
  });
  // The terminal receives each status request before the next one is due.
  for (let pending = 1; !isOver; pending += 1) {
    await waitUntil(() => isOver || fakeTerminal.receivedCategories.length > pending, 'a question');
    clock.advance(5_000);
  }
  const [first] = await opened;
  assert.equal(first?.outcome, 'Unknown');
  const answer = fakeTerminal.finish();
  fakeTerminal.send(answer);
  await waitUntil(() => late.length === 1, 'the late answer');
  assert.equal(late[0]?.header.ServiceID, first.service.serviceId);
  assert.equal((await terminal.recover(first.service.serviceId)).outcome, 'Answered');
  fakeTerminal.send(answer);
  await waitUntil(() => connector.sessions.at(-1)?.readyState === 1, 'the session');
  assert.equal((await terminal.request('Diagnosis', {})).result, 'Success');
  assert.equal(late.length, 1, 'it is known by then');
});

test('finished services are deleted after 48 hours and unfinished ones stay', async (t) => {
  const { createTerminal, store, clock } = await createPosWithTerminal(t);
  const first = createTerminal();
  await first.open();
  const old = await first.sale(order);
  const [service] = await store.load();
  assert.ok(service);
  await store.save({ ...service, serviceId: 'UNKNOWN001', outcome: 'Unknown' });
  // A TransactionStatus cannot request the outcome of a login.
  const login = { ...service.header, MessageCategory: 'Login' } as const;
  await store.save({ ...service, serviceId: 'UNKNOWN002', header: login, outcome: 'Unknown' });
  await first.close();
  clock.advance(172_800_001);
  const second = createTerminal();
  await second.open();
  const ids = (await store.load()).map(({ serviceId }) => serviceId);
  assert.deepEqual(ids, ['UNKNOWN001']);
  assert.notEqual(old.serviceId, 'UNKNOWN001');
});

test('a terminal that is offline, in use or unknown is a Connector error and nothing is stored', async (t) => {
  const { createTerminal, connector, store } = await createPosWithTerminal(t);
  const terminal = createTerminal();
  await terminal.open();
  connector.isOnline = false;
  await assert.rejects(
    terminal.sale(order),
    isPosError('Connector', 'device_offline', 'NotProcessed'),
  );
  assert.deepEqual(await store.load(), []);
  connector.isOnline = true;
  assert.equal((await terminal.sale(order)).result, 'Success');
});

test('the terminal uses the display and printer of the point of sale and sends events', async (t) => {
  const { createTerminal, fakeTerminal, connector } = await createPosWithTerminal(t);
  const displayed: unknown[] = [];
  const events: string[] = [];
  const terminal = createTerminal({
    devices: {
      Display({ DisplayOutput }) {
        displayed.push(DisplayOutput[0]?.OutputContent);
        const Response = { Result: 'Success' } as const;
        return {
          OutputResult: DisplayOutput.map(({ Device, InfoQualify }) => ({
            Device,
            InfoQualify,
            Response,
          })),
        };
      },
    },
    onEvent: ({ body }) => events.push(body.EventToNotify),
  });
  await terminal.open();
  await terminal.sale(order);
  const answers: string[] = [];
  connector.sessions[0]?.on('message', (data) => answers.push(String(data)));
  const address = { saleId, poiId, deviceId: 'D1' };
  const output = {
    OutputFormat: 'Text',
    OutputText: [{ Text: 'Card inserted' }],
  } as const;
  const display = requestOf('Display', address, {
    DisplayOutput: [{ Device: 'CashierDisplay', InfoQualify: 'Display', OutputContent: output }],
  });
  fakeTerminal.send(writeMessage(display as AnyMessage));
  const print = requestOf(
    'Print',
    { ...address, deviceId: 'D2' },
    {
      PrintOutput: {
        DocumentQualifier: 'CashierReceipt',
        ResponseMode: 'PrintEnd',
        OutputContent: output,
      },
    },
  );
  fakeTerminal.send(writeMessage(print as AnyMessage));
  const event = buildEventNotification('CardInserted', address, { at: '2026-03-01T10:00:00.000Z' });
  fakeTerminal.send(writeMessage(event as AnyMessage));
  await waitUntil(() => answers.length === 2 && events.length === 1, 'both answers');
  assert.deepEqual(displayed, [output]);
  assert.deepEqual(events, ['CardInserted']);
  const answerTo = (id: string) => answers.find((text) => text.includes(`"${id}"`)) ?? '';
  assert.match(answerTo('D1'), /"DisplayResponse".*"Success"/);
  assert.match(answerTo('D2'), /"PrintResponse".*"UnavailableDevice"/);
});

test('protected messages are decrypted and messages in clear text are ignored', async (t) => {
  const fakeTerminal = createFakeTerminal(poiId, createProtection({ keys: [key], randomBytes }));
  const {
    createTerminal,
    errors: faults,
    connector,
  } = await createPosWithTerminal(t, fakeTerminal);
  fakeTerminal.holdsAnswers = true;
  const terminal = createTerminal({ keys: [key] });
  await terminal.open();
  const texts: string[] = [];
  const pending = terminal.sale(order);
  await waitUntil(() => fakeTerminal.services.length === 1, 'the sale');
  const [ran] = fakeTerminal.services;
  assert.ok(ran);
  const forged = requestOf(
    'Display',
    { saleId, poiId, deviceId: 'D1' },
    {
      DisplayOutput: [
        {
          Device: 'CashierDisplay',
          InfoQualify: 'Display',
          OutputContent: { OutputFormat: 'Text', OutputText: [{ Text: 'paid' }] },
        },
      ],
    },
  );
  connector.sessions[0]?.on('message', (data) => texts.push(String(data)));
  fakeTerminal.send(writeMessage(forged as AnyMessage));
  await waitUntil(() => faults.length === 1, 'the forged one');
  assert.equal(faults[0]?.code, 'unprotected');
  fakeTerminal.send(fakeTerminal.finish());
  assert.equal((await pending).result, 'Success');
  assert.deepEqual(texts, []);
});

test('invalid bodies and amounts are rejected before a service starts', async (t) => {
  const { createTerminal, fakeTerminal, store } = await createPosWithTerminal(t);
  const terminal = createTerminal();
  await assert.rejects(terminal.sale(order), isPosError('Invalid', 'not_open', 'NotProcessed'));
  await terminal.open();
  const half = { ...order, amount: 12.5 };
  await assert.rejects(
    terminal.sale(half),
    isPosError('Invalid', 'amount_invalid', 'NotProcessed'),
  );
  const money = { ...order, currency: 'XXQ' };
  await assert.rejects(
    terminal.sale(money),
    isPosError('Invalid', 'currency_unknown', 'NotProcessed'),
  );
  const empty = terminal.request('Payment', {} as never);
  await assert.rejects(empty, isPosError('Invalid', 'message_invalid', 'NotProcessed'));
  assert.deepEqual([fakeTerminal.receivedCategories, await store.load()], [[], []]);
});

test('a sale is paid over the local network', async (t) => {
  const { createTerminal, fakeTerminal, connector } = await createPosWithTerminal(t);
  const { url } = await startLocalTerminal(t, fakeTerminal);
  const terminal = createTerminal({ transport: { kind: 'local', url } });
  await terminal.open();
  assert.equal((await terminal.sale(order)).result, 'Success');
  assert.equal(requireSuccess(await terminal.request('Diagnosis', {})).result, 'Success');
  assert.equal(connector.controls.length, 0);
});

test('an unreachable local terminal has processed nothing', async (t) => {
  const { createTerminal, store } = await createPosWithTerminal(t);
  const terminal = createTerminal({ transport: { kind: 'local', url: 'http://127.0.0.1:1/nexo' } });
  await terminal.open();
  await assert.rejects(
    terminal.sale(order),
    isPosError('Transport', 'unreachable', 'NotProcessed'),
  );
  assert.equal((await store.load())[0]?.outcome, 'NotProcessed');
});

// Spec: NEXO-46
test('if the cloud loses the terminal during a sale, the local network provides the outcome', async (t) => {
  const { createTerminal, fakeTerminal, connector, client } = await createPosWithTerminal(t);
  const local = await startLocalTerminal(t, fakeTerminal);
  fakeTerminal.holdsAnswers = true;
  const terminal = createTerminal({
    transport: { kind: 'auto', cloud: { client, tsn: poiId }, local },
  });
  await terminal.open();
  const pending = terminal.sale(order);
  await waitUntil(() => fakeTerminal.services.length === 1, 'the sale');
  fakeTerminal.finish();
  fakeTerminal.holdsAnswers = false;
  connector.isOnline = false;
  connector.sessions[0]?.close(closeCodes.deviceDisconnected, 'device_disconnected');
  assert.equal((await pending).result, 'Success');
  assert.equal((await terminal.sale(order)).result, 'Success');
  assert.deepEqual(fakeTerminal.receivedCategories, ['Payment', 'TransactionStatus', 'Payment']);
  assert.equal(connector.sessions.length, 1);
});

/** A connector that refuses every claim with the code. */
const refusesClaims =
  (code: string): FakeConnector['answer'] =>
  ({ type, requestId }) =>
    type === 'claim'
      ? {
          type: 'error',
          requestId,
          correlationId: 'c-1',
          error: { code, message: code, retryable: true },
        }
      : undefined;

// Spec: NEXO-46
test('the local network is used if the cloud cannot reach the terminal', async (t) => {
  for (const code of ['device_offline', 'node_unreachable', 'unavailable', 'restarting']) {
    const { createTerminal, fakeTerminal, connector, client } = await createPosWithTerminal(t);
    const local = await startLocalTerminal(t, fakeTerminal);
    connector.answer = refusesClaims(code);
    const terminal = createTerminal({
      transport: { kind: 'auto', cloud: { client, tsn: poiId }, local },
    });
    await terminal.open();
    assert.equal((await terminal.sale(order)).result, 'Success', code);
    assert.deepEqual(fakeTerminal.receivedCategories, ['Payment']);
    assert.equal(connector.sessions.length, 0);
    await terminal.close();
  }
});

test('a terminal in use by another point of sale is not called over the local network', async (t) => {
  const { createTerminal, fakeTerminal, connector, client } = await createPosWithTerminal(t);
  const local = await startLocalTerminal(t, fakeTerminal);
  connector.answer = refusesClaims('device_claimed');
  const terminal = createTerminal({
    transport: { kind: 'auto', cloud: { client, tsn: poiId }, local },
  });
  await terminal.open();
  await assert.rejects(
    terminal.sale(order),
    isPosError('Connector', 'device_claimed', 'NotProcessed'),
  );
  assert.deepEqual(fakeTerminal.receivedCategories, []);
});

test('NotFound over the local network does not end a service that the cloud may still deliver', async (t) => {
  for (const isDelivered of [true, false]) {
    const { createTerminal, fakeTerminal, connector, client, clock } =
      await createPosWithTerminal(t);
    const local = await startLocalTerminal(t, fakeTerminal);
    let late = '';
    const terminal = createTerminal({
      transport: { kind: 'auto', cloud: { client, tsn: poiId }, local },
    });
    await terminal.open();
    await terminal.sale(order);
    fakeTerminal.receivedCategories.length = 0;
    connector.terminal = (text) => {
      late = text;
    };
    let isOver = false;
    const pending = terminal.sale(order).finally(() => {
      isOver = true;
    });
    pending.catch(() => isOver);
    await waitUntil(() => late !== '', 'the sale');
    connector.isOnline = false;
    connector.sessions[0]?.close(closeCodes.deviceDisconnected, 'device_disconnected');
    let enquiries = 0;
    const askAgain = async () => {
      enquiries += 1;
      await waitUntil(
        () => isOver || fakeTerminal.receivedCategories.length >= enquiries,
        'a question',
      );
      clock.advance(5000);
    };
    while (enquiries < 10) await askAgain();
    assert.equal(isOver, false);
    if (isDelivered) {
      enquiries += 1;
      fakeTerminal.receive(late, () => {});
      await askAgain();
      assert.equal((await pending).result, 'Success');
    } else {
      while (!isOver) await askAgain();
      assert.ok(enquiries >= 15 && enquiries < 20, String(enquiries));
      await assert.rejects(pending, { outcome: 'NotProcessed' });
    }
  }
});
