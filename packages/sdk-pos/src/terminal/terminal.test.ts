import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { closeCodes } from '@switchyard/contract';
import {
  type AnyMessage,
  createProtection,
  eventOf,
  requestOf,
  writeMessage,
} from '@switchyard/nexo';
import { authorizedAmount, demandSuccess, type ServiceStore } from '../index.ts';
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

test('a sale in minor units is paid, and what was authorised comes back in minor units', async (t) => {
  const { createTerminal: till, fakeTerminal: poi, store } = await createPosWithTerminal(t);
  const terminal = till();
  assert.deepEqual(await terminal.open(), []);
  const answer = await terminal.sale({ ...order, tip: 50 });
  assert.equal(answer.result, 'Success');
  assert.equal(authorizedAmount(answer.message, 'EUR'), 1250);
  const [ran] = poi.services;
  assert.ok(ran);
  const { AmountsReq } = ran.body['PaymentTransaction'] as { AmountsReq: unknown };
  assert.deepEqual(AmountsReq, { Currency: 'EUR', RequestedAmount: 12.5, TipAmount: 0.5 });
  const [kept] = await store.load();
  assert.equal(kept?.outcome, 'Answered');
  assert.equal(kept?.serviceId, answer.serviceId);
  assert.doesNotMatch(JSON.stringify(kept), /12\.5|1250|4711/);
  await terminal.close();
});

test('a service is in the store before anything of it is sent', async (t) => {
  const { createTerminal: till, fakeTerminal: poi, store } = await createPosWithTerminal(t);
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
  const terminal = till({ store: slow });
  await terminal.open();
  const asked = terminal.sale(order);
  await waitUntil(() => saved === 1, 'the store was asked');
  assert.deepEqual(poi.receivedCategories, []);
  release();
  assert.equal((await asked).result, 'Success');
});

test('what cannot be kept is not sent', async (t) => {
  const { createTerminal: till, fakeTerminal: poi, store } = await createPosWithTerminal(t);
  const full = () => {
    throw new Error('the disk is full');
  };
  const terminal = till({ store: { ...store, save: full } });
  await terminal.open();
  await assert.rejects(terminal.sale(order), isPosError('Invalid', 'store_failed', 'NotProcessed'));
  assert.deepEqual(poi.receivedCategories, []);
});

test('services wait for each other; a diagnosis does not', async (t) => {
  const { createTerminal: till, fakeTerminal: poi } = await createPosWithTerminal(t);
  poi.holdsAnswers = true;
  const terminal = till();
  await terminal.open();
  const first = terminal.sale(order);
  await waitUntil(() => poi.services.length === 1, 'the first');
  const second = terminal.sale({ ...order, transactionId: '4712' });
  const stop = new AbortController();
  const third = terminal.sale(order, { signal: stop.signal });
  stop.abort();
  await assert.rejects(third, isPosError('Aborted', 'aborted', 'NotProcessed'));
  const asked = terminal.request('Diagnosis', {});
  await waitUntil(() => poi.receivedCategories.includes('Diagnosis'), 'the diagnosis');
  assert.equal(poi.services.filter(({ header }) => header.MessageCategory === 'Payment').length, 1);
  assert.equal((await asked).result, 'Success');
  poi.holdsAnswers = false;
  poi.send(poi.finish());
  const answers = await Promise.all([first, second]);
  assert.notEqual(answers[0].serviceId, answers[1].serviceId);
  assert.deepEqual(poi.receivedCategories, ['Payment', 'Diagnosis', 'Payment']);
});

test('a refusal is an answer; demandSuccess makes a fault of it', async (t) => {
  const { createTerminal: till, fakeTerminal: poi } = await createPosWithTerminal(t);
  poi.holdsAnswers = true;
  const terminal = till();
  await terminal.open();
  const asked = terminal.sale(order);
  await waitUntil(() => poi.services.length === 1, 'the sale');
  poi.send(poi.finish('Refusal'));
  const answer = await asked;
  assert.deepEqual(
    [answer.result, answer.condition, answer.advice],
    ['Failure', 'Refusal', 'Never'],
  );
  assert.throws(() => demandSuccess(answer), isPosError('Terminal', 'refused', 'NotProcessed'));
});

test('an abort is sent, and the real answer awaited', async (t) => {
  const { createTerminal: till, fakeTerminal: poi } = await createPosWithTerminal(t);
  poi.holdsAnswers = true;
  const terminal = till();
  await terminal.open();
  const stop = new AbortController();
  const asked = terminal.sale(order, { signal: stop.signal });
  await waitUntil(() => poi.services.length === 1, 'the sale');
  stop.abort();
  const answer = await asked;
  assert.equal(answer.condition, 'Aborted');
  assert.deepEqual(poi.receivedCategories, ['Payment', 'Abort']);
});

test('a session that breaks in the middle is resumed, and the outcome asked for', async (t) => {
  const { createTerminal: till, fakeTerminal: poi, connector } = await createPosWithTerminal(t);
  poi.holdsAnswers = true;
  const terminal = till();
  await terminal.open();
  const asked = terminal.sale(order);
  await waitUntil(() => poi.services.length === 1, 'the sale');
  poi.finish();
  connector.sessions[0]?.close(closeCodes.deviceDisconnected, 'device_disconnected');
  const answer = await asked;
  assert.equal(answer.result, 'Success');
  assert.equal(authorizedAmount(answer.message, 'EUR'), 1250);
  assert.deepEqual(poi.receivedCategories, ['Payment', 'TransactionStatus']);
  assert.equal(connector.receivedMessages.at(-1)?.['resumeToken'], 'resume-1');
  assert.equal(poi.services.length, 1);
});

test('a terminal that stays away leaves the outcome unknown, and it can be asked for later', async (t) => {
  const {
    createTerminal: till,
    fakeTerminal: poi,
    connector,
    clock,
    store,
  } = await createPosWithTerminal(t);
  poi.holdsAnswers = true;
  const terminal = till();
  await terminal.open();
  const asked = terminal.sale(order);
  await waitUntil(() => poi.services.length === 1, 'the sale');
  connector.isOnline = false;
  connector.sessions[0]?.close(closeCodes.deviceDisconnected, 'device_disconnected');
  await waitUntil(() => connector.receivedMessages.length > 1, 'a claim');
  const refused = assert.rejects(asked, isPosError('Terminal', 'outcome_unknown', 'Unknown'));
  let isOver = false;
  void refused.then(() => {
    isOver = true;
  });
  await waitUntil(() => {
    if (!isOver && clock.waits().includes(5_000)) clock.advance(5_000);
    return isOver;
  }, 'the end of asking');
  const [kept] = terminal.unknownServices();
  assert.ok(kept);
  poi.finish();
  connector.isOnline = true;
  const recovered = await terminal.recover(kept.serviceId);
  assert.equal(recovered.outcome, 'Answered');
  assert.equal(recovered.message?.header.ServiceID, kept.serviceId);
  assert.deepEqual(terminal.unknownServices(), []);
  assert.equal((await store.load())[0]?.outcome, 'Answered');
});

test('after a restart in the middle of a sale the terminal is asked how it ended', async (t) => {
  const { createTerminal: till, fakeTerminal: poi } = await createPosWithTerminal(t);
  poi.holdsAnswers = true;
  const before = till();
  await before.open();
  const asked = before.sale(order);
  await waitUntil(() => poi.services.length === 1, 'the sale');
  const ended = assert.rejects(asked, isPosError('Invalid', 'closed', 'Unknown'));
  await before.close();
  await ended;
  poi.finish();
  poi.holdsAnswers = false;
  const after = till();
  const [recovered] = await after.open();
  assert.equal(recovered?.outcome, 'Answered');
  assert.equal(recovered?.message?.header.MessageCategory, 'Payment');
  const next = await after.sale(order);
  assert.ok(next.serviceId > (recovered?.service.serviceId ?? ''));
  assert.equal(poi.services.length, 2);
});

test('a batch that a restart of the till interrupts is answered at the next open', async (t) => {
  const { createTerminal: till, fakeTerminal: poi } = await createPosWithTerminal(t);
  poi.holdsAnswers = true;
  const before = till();
  await before.open();
  const asked = before.request('Batch', { TransactionToPerform: [] });
  await waitUntil(() => poi.services.length === 1, 'the batch');
  const ended = assert.rejects(asked, isPosError('Invalid', 'closed', 'Unknown'));
  await before.close();
  await ended;
  poi.finish();
  const [recovered] = await till().open();
  assert.equal(recovered?.outcome, 'Answered');
  assert.deepEqual(recovered?.message?.body, { Response: { Result: 'Success' } });
  assert.equal(recovered?.message?.header.MessageCategory, 'Batch');
  assert.equal(poi.services.length, 1, 'the batch is not performed again');
});

/** A till that restarts after its process ended during a sale, with an offline terminal. */
async function restarted(t: TestContext) {
  const on = await createPosWithTerminal(t);
  on.fakeTerminal.holdsAnswers = true;
  const before = on.createTerminal();
  await before.open();
  const ended = assert.rejects(before.sale(order), isPosError('Invalid', 'closed', 'Unknown'));
  await waitUntil(() => on.fakeTerminal.services.length === 1, 'the sale');
  await before.close();
  await ended;
  on.fakeTerminal.finish();
  on.connector.isOnline = false;
  const comesBack = () => {
    on.connector.isOnline = true;
    on.clock.advance(5_000);
  };
  const asksAgain = () => waitUntil(() => on.clock.waits().includes(5_000), 'a next question');
  return { ...on, terminal: on.createTerminal(), comesBack, asksAgain };
}
const isAborted = isPosError('Aborted', 'aborted', 'NotProcessed');

test('an open that is aborted asks no more, and the next one begins anew', async (t) => {
  const { terminal, comesBack, asksAgain, store, fakeTerminal: poi } = await restarted(t);
  const stop = new AbortController();
  const asked = terminal.open({ signal: stop.signal });
  await asksAgain();
  stop.abort();
  const next = terminal.open();
  await assert.rejects(asked, isAborted);
  await assert.rejects(terminal.open({ signal: stop.signal }), isAborted);
  assert.equal((await store.load())[0]?.outcome, undefined, 'nothing is known of it');
  await asksAgain();
  comesBack();
  const [recovered] = await next;
  assert.equal(recovered?.outcome, 'Answered');
  assert.equal(poi.services.length, 1, 'it was paid once');
});

test('an open goes on for whoever still waits for it', async (t) => {
  const { terminal, comesBack, asksAgain } = await restarted(t);
  const stop = new AbortController();
  const [given, kept] = [terminal.open({ signal: stop.signal }), terminal.open()];
  await asksAgain();
  stop.abort();
  await assert.rejects(given, isAborted);
  comesBack();
  assert.equal((await kept)[0]?.outcome, 'Answered');
});

test('a recovery that is aborted leaves unknown what was unknown', async (t) => {
  const { terminal, asksAgain, clock, connector, client } = await restarted(t);
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
  const asked = terminal.recover(serviceId, { signal: stop.signal });
  await asksAgain();
  stop.abort();
  await assert.rejects(asked, isAborted);
  assert.deepEqual(
    terminal.unknownServices().map((kept) => kept.serviceId),
    [serviceId],
  );
  // The connector answers in order, so the earlier requests are answered by now.
  await client.status(poiId);
  connector.isOnline = true;
  assert.equal((await terminal.recover(serviceId)).outcome, 'Answered');
});

test('the answer of a service that a recovery gave up is told as late', async (t) => {
  const {
    createTerminal: till,
    fakeTerminal: poi,
    clock,
    connector,
  } = await createPosWithTerminal(t);
  poi.holdsAnswers = true;
  const before = till();
  await before.open();
  const ended = assert.rejects(before.sale(order), isPosError('Invalid', 'closed', 'Unknown'));
  await waitUntil(() => poi.services.length === 1, 'the sale');
  await before.close();
  await ended;
  const late: AnyMessage[] = [];
  const terminal = till({ onLateResponse: (message) => late.push(message) });
  let isOver = false;
  const opened = terminal.open().finally(() => {
    isOver = true;
  });
  // The terminal receives each status request before the next one is due.
  for (let asked = 1; !isOver; asked += 1) {
    await waitUntil(() => isOver || poi.receivedCategories.length > asked, 'a question');
    clock.advance(5_000);
  }
  const [first] = await opened;
  assert.equal(first?.outcome, 'Unknown');
  const answer = poi.finish();
  poi.send(answer);
  await waitUntil(() => late.length === 1, 'the late answer');
  assert.equal(late[0]?.header.ServiceID, first.service.serviceId);
  assert.equal((await terminal.recover(first.service.serviceId)).outcome, 'Answered');
  poi.send(answer);
  await waitUntil(() => connector.sessions.at(-1)?.readyState === 1, 'the session');
  assert.equal((await terminal.request('Diagnosis', {})).result, 'Success');
  assert.equal(late.length, 1, 'it is known by then');
});

test('what is over is forgotten after 48 hours, and what is not is kept', async (t) => {
  const { createTerminal: till, store, clock } = await createPosWithTerminal(t);
  const first = till();
  await first.open();
  const old = await first.sale(order);
  const [kept] = await store.load();
  assert.ok(kept);
  await store.save({ ...kept, serviceId: 'UNKNOWN001', outcome: 'Unknown' });
  // A TransactionStatus cannot request the outcome of a login.
  const login = { ...kept.header, MessageCategory: 'Login' } as const;
  await store.save({ ...kept, serviceId: 'UNKNOWN002', header: login, outcome: 'Unknown' });
  await first.close();
  clock.advance(172_800_001);
  const second = till();
  await second.open();
  const ids = (await store.load()).map(({ serviceId }) => serviceId);
  assert.deepEqual(ids, ['UNKNOWN001']);
  assert.notEqual(old.serviceId, 'UNKNOWN001');
});

test('a terminal that is away, in use, or unknown is a fault of the relay, and nothing is kept', async (t) => {
  const { createTerminal: till, connector, store } = await createPosWithTerminal(t);
  const terminal = till();
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

test('the terminal uses screen and printer of the till, and tells events', async (t) => {
  const { createTerminal: till, fakeTerminal: poi, connector } = await createPosWithTerminal(t);
  const shown: unknown[] = [];
  const events: string[] = [];
  const terminal = till({
    devices: {
      Display({ DisplayOutput }) {
        shown.push(DisplayOutput[0]?.OutputContent);
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
  poi.send(writeMessage(display as AnyMessage));
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
  poi.send(writeMessage(print as AnyMessage));
  const event = eventOf('CardInserted', address, { at: '2026-03-01T10:00:00.000Z' });
  poi.send(writeMessage(event as AnyMessage));
  await waitUntil(() => answers.length === 2 && events.length === 1, 'both answers');
  assert.deepEqual(shown, [output]);
  assert.deepEqual(events, ['CardInserted']);
  const of = (id: string) => answers.find((text) => text.includes(`"${id}"`)) ?? '';
  assert.match(of('D1'), /"DisplayResponse".*"Success"/);
  assert.match(of('D2'), /"PrintResponse".*"UnavailableDevice"/);
});

test('protected messages open, and one in clear is not heard', async (t) => {
  const poi = createFakeTerminal(poiId, createProtection({ keys: [key], randomBytes }));
  const { createTerminal: till, errors: faults, connector } = await createPosWithTerminal(t, poi);
  poi.holdsAnswers = true;
  const terminal = till({ keys: [key] });
  await terminal.open();
  const texts: string[] = [];
  const asked = terminal.sale(order);
  await waitUntil(() => poi.services.length === 1, 'the sale');
  const [ran] = poi.services;
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
  poi.send(writeMessage(forged as AnyMessage));
  await waitUntil(() => faults.length === 1, 'the forged one');
  assert.equal(faults[0]?.code, 'unprotected');
  poi.send(poi.finish());
  assert.equal((await asked).result, 'Success');
  assert.deepEqual(texts, []);
});

test('bodies and amounts that are none are found before anything is begun', async (t) => {
  const { createTerminal: till, fakeTerminal: poi, store } = await createPosWithTerminal(t);
  const terminal = till();
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
  assert.deepEqual([poi.receivedCategories, await store.load()], [[], []]);
});

test('the same over the local network', async (t) => {
  const { createTerminal: till, fakeTerminal: poi, connector } = await createPosWithTerminal(t);
  const { url } = await startLocalTerminal(t, poi);
  const terminal = till({ transport: { kind: 'local', url } });
  await terminal.open();
  assert.equal((await terminal.sale(order)).result, 'Success');
  assert.equal(demandSuccess(await terminal.request('Diagnosis', {})).result, 'Success');
  assert.equal(connector.controls.length, 0);
});

test('a local terminal that is not there has not processed anything', async (t) => {
  const { createTerminal: till, store } = await createPosWithTerminal(t);
  const terminal = till({ transport: { kind: 'local', url: 'http://127.0.0.1:1/nexo' } });
  await terminal.open();
  await assert.rejects(
    terminal.sale(order),
    isPosError('Transport', 'unreachable', 'NotProcessed'),
  );
  assert.equal((await store.load())[0]?.outcome, 'NotProcessed');
});

test('where the cloud loses the terminal in the middle, the local network tells the outcome', async (t) => {
  const {
    createTerminal: till,
    fakeTerminal: poi,
    connector,
    client,
  } = await createPosWithTerminal(t);
  const local = await startLocalTerminal(t, poi);
  poi.holdsAnswers = true;
  const terminal = till({ transport: { kind: 'auto', cloud: { client, tsn: poiId }, local } });
  await terminal.open();
  const asked = terminal.sale(order);
  await waitUntil(() => poi.services.length === 1, 'the sale');
  poi.finish();
  poi.holdsAnswers = false;
  connector.isOnline = false;
  connector.sessions[0]?.close(closeCodes.deviceDisconnected, 'device_disconnected');
  assert.equal((await asked).result, 'Success');
  assert.equal((await terminal.sale(order)).result, 'Success');
  assert.deepEqual(poi.receivedCategories, ['Payment', 'TransactionStatus', 'Payment']);
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

test('where the cloud cannot reach the terminal, or cannot tell, the local network is taken', async (t) => {
  for (const code of ['device_offline', 'node_unreachable', 'unavailable', 'restarting']) {
    const {
      createTerminal: till,
      fakeTerminal: poi,
      connector,
      client,
    } = await createPosWithTerminal(t);
    const local = await startLocalTerminal(t, poi);
    connector.answer = refusesClaims(code);
    const terminal = till({ transport: { kind: 'auto', cloud: { client, tsn: poiId }, local } });
    await terminal.open();
    assert.equal((await terminal.sale(order)).result, 'Success', code);
    assert.deepEqual(poi.receivedCategories, ['Payment']);
    assert.equal(connector.sessions.length, 0);
    await terminal.close();
  }
});

test('a terminal that another till uses is not asked over the local network', async (t) => {
  const {
    createTerminal: till,
    fakeTerminal: poi,
    connector,
    client,
  } = await createPosWithTerminal(t);
  const local = await startLocalTerminal(t, poi);
  connector.answer = refusesClaims('device_claimed');
  const terminal = till({ transport: { kind: 'auto', cloud: { client, tsn: poiId }, local } });
  await terminal.open();
  await assert.rejects(
    terminal.sale(order),
    isPosError('Connector', 'device_claimed', 'NotProcessed'),
  );
  assert.deepEqual(poi.receivedCategories, []);
});

test('what the cloud may still deliver is not given up because the local network has not seen it', async (t) => {
  for (const isDelivered of [true, false]) {
    const {
      createTerminal: till,
      fakeTerminal: poi,
      connector,
      client,
      clock,
    } = await createPosWithTerminal(t);
    const local = await startLocalTerminal(t, poi);
    let late = '';
    connector.terminal = (text) => {
      late = text;
    };
    const terminal = till({ transport: { kind: 'auto', cloud: { client, tsn: poiId }, local } });
    await terminal.open();
    let isOver = false;
    const asked = terminal.sale(order).finally(() => {
      isOver = true;
    });
    asked.catch(() => isOver);
    await waitUntil(() => late !== '', 'the sale');
    connector.isOnline = false;
    connector.sessions[0]?.close(closeCodes.deviceDisconnected, 'device_disconnected');
    let enquiries = 0;
    const askAgain = async () => {
      enquiries += 1;
      await waitUntil(() => isOver || poi.receivedCategories.length >= enquiries, 'a question');
      clock.advance(5000);
    };
    while (enquiries < 10) await askAgain();
    assert.equal(isOver, false);
    if (isDelivered) {
      enquiries += 1;
      poi.receive(late, () => {});
      await askAgain();
      assert.equal((await asked).result, 'Success');
    } else {
      while (!isOver) await askAgain();
      assert.ok(enquiries >= 15 && enquiries < 20, String(enquiries));
      await assert.rejects(asked, { outcome: 'NotProcessed' });
    }
  }
});
