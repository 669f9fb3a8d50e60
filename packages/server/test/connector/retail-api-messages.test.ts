// The lifetime of messages to terminals: late responses, disconnected tills, killed processes, and
// 48 hours of retention.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { closeCodes, ProblemError } from '@switchyard/contract';
import { createLocalBackplane } from '../../src/connector/nodes/backplane.ts';
import type { ClaimOptions } from '../../src/connector/pos/claim-requests.ts';
import { ConnectorFault } from '../../src/connector/protocol/connector-fault.ts';
import { createRetailApi } from '../../src/connector/retail-api/index.ts';
import {
  createMessageStore,
  type MessageKey,
  type MessageStore,
} from '../../src/connector/retail-api/message-store.ts';
import type { RetailConnector } from '../../src/connector/retail-api/retail-dependencies.ts';
import type { RetailTerminals } from '../../src/connector/retail-api/retail-terminals.ts';
import {
  createMessageSender,
  type MessageCall,
  type MessageSender,
} from '../../src/connector/retail-api/send-message.ts';
import {
  createTerminalSessionPool,
  type TerminalSessionPool,
} from '../../src/connector/retail-api/terminal-session-pool.ts';
import {
  createLog,
  type Database,
  migrate,
  openDatabase,
  systemClock,
  systemIdGenerator,
} from '../../src/platform/index.ts';
import { migrationsFolder, testDatabaseCopyUrl } from '../support/database/test-database.ts';
import { eventually } from '../support/wait-for-condition.ts';
import type { Json } from './test-connector.ts';
import { headerOf, paymentOf, requestOf } from './test-retail-api.ts';

const hourMs = 3_600_000;
const start = Date.UTC(2026, 2, 1, 12);

/** A unique terminal in a place. */
const placeOf = () =>
  ({
    organizationId: randomUUID(),
    physicalDeviceId: randomUUID(),
    merchantId: randomUUID(),
    storeId: randomUUID(),
    logicalDeviceId: randomUUID(),
    tsn: 'AXIUM_DX8000-1',
  }) as Parameters<MessageStore['create']>[0]['terminal'];

describe('messages to terminals', () => {
  let database: Database;
  let store: MessageStore;
  let terminal: ReturnType<typeof placeOf>;
  let services = 0;
  const clock = { at: start, now: () => clock.at };
  const logged: string[] = [];
  const log = createLog(
    { logLevel: 'debug', instanceName: 'test' },
    { write: (line: string) => void logged.push(line) },
  );
  const masterKey = randomBytes(32);

  before(async () => {
    // A separate database: the clock of these tests would expire the messages of other tests.
    database = openDatabase({ url: await testDatabaseCopyUrl(), log });
    await migrate(database, migrationsFolder, { log, clock: systemClock, ids: systemIdGenerator });
    store = createMessageStore({ database, clock, ids: systemIdGenerator, masterKey });
  });
  after(() => database?.close());
  beforeEach(() => {
    clock.at = start;
    terminal = placeOf();
  });

  const begin = (facts: Partial<Parameters<MessageStore['create']>[0]> = {}) => {
    services += 1;
    return store.create({
      terminal,
      serviceId: `S${services}`,
      saleId: 'till-3',
      category: 'Payment',
      isPublished: false,
      hasResponse: true,
      dueAt: clock.at + 150_000,
      ...facts,
    });
  };
  const findMessage = (serviceId: string) =>
    store.find(terminal, { serviceId, saleId: 'till-3' }, {});
  async function eventsOf({ messageId }: MessageKey): Promise<number> {
    const rows = await database.query('SELECT 1 FROM outbox WHERE subject_id = $1', [messageId]);
    return rows.length;
  }

  describe('of a process that died', () => {
    // Spec: NEXO-26
    it('fail with the fault timeout when they are overdue, and only published messages create an event', async () => {
      const publishedMessage = await begin({ serviceId: 'told', isPublished: true });
      const quiet = await begin({ serviceId: 'quiet' });
      const young = await begin({ serviceId: 'young', dueAt: clock.at + hourMs });
      assert.ok(publishedMessage && quiet && young);
      clock.at += 150_000;
      assert.equal(await store.expireOverdue(clock.at - 1, 10), 0, 'not before its time');
      assert.equal(await store.expireOverdue(clock.at + 1, 10), 2);
      const { status, fault, settledAt } = (await findMessage('told')) ?? {};
      assert.deepEqual(
        [status, fault, settledAt],
        ['Failed', 'timeout', new Date(clock.at).toISOString()],
      );
      assert.equal((await findMessage('young'))?.status, 'Waiting');
      assert.deepEqual(
        await Promise.all([publishedMessage, quiet, young].map(eventsOf)),
        [1, 0, 0],
      );
      await store.complete(publishedMessage, { text: '{}', result: 'Success' });
      assert.equal((await findMessage('told'))?.status, 'Failed', 'what has its end keeps it');
      assert.equal(await eventsOf(publishedMessage), 1);
      assert.equal(await store.expireOverdue(clock.at + 1, 10), 0);
    });

    it('are ended a few at a time, and by one of several processes', async () => {
      for (let at = 0; at < 7; at += 1) await begin({ dueAt: clock.at + 1 });
      assert.equal(await store.expireOverdue(clock.at + 2, 3), 3);
      const others = await Promise.all([1, 2, 3].map(() => store.expireOverdue(clock.at + 2, 3)));
      const rest = await store.expireOverdue(clock.at + 2, 10);
      assert.equal(others.reduce((sum, each) => sum + each, 0) + rest, 4);
    });

    it('are looked for by the platform, which gives the process that sent them its time', async () => {
      await begin({ serviceId: 'dead' });
      const unexpected = (() => assert.fail('unexpected call')) as never;
      const retail = createRetailApi({
        database,
        clock,
        dueClock: clock,
        ids: systemIdGenerator,
        masterKey,
        log,
        times: { sweepMs: 5 },
        connector: {
          claims: unexpected,
          presence: unexpected,
          backplane: createLocalBackplane(),
          joinSession: unexpected,
        },
        provisioning: unexpected,
        catalog: unexpected,
        live: { addSource: () => {}, publish: () => {} } as never,
      });
      clock.at += 150_000 + 59_000;
      retail.start();
      try {
        await begin({ serviceId: 'old', dueAt: clock.at - 2 * hourMs });
        await eventually('one that is long overdue', async () => {
          return (await findMessage('old'))?.status === 'Failed';
        });
        assert.equal((await findMessage('dead'))?.status, 'Waiting', 'a minute is not over');
        clock.at += 2_000;
        await eventually(
          'the other one',
          async () => (await findMessage('dead'))?.status === 'Failed',
        );
      } finally {
        await retail.stop();
      }
    });
  });

  describe('of the last 48 hours', () => {
    // Spec: NEXO-26
    it('reserve their ServiceID, and after 48 hours a new message can use it', async () => {
      const completedMessage = await begin({ serviceId: 'once' });
      assert.ok(completedMessage);
      await store.complete(completedMessage, { text: '{"a":1}', result: 'Success' });
      clock.at += 48 * hourMs - 1;
      assert.equal(await begin({ serviceId: 'once' }), undefined);
      assert.deepEqual((await findMessage('once'))?.response, { a: 1 });
      clock.at += 2;
      assert.equal(await findMessage('once'), undefined, 'told by its age, deleted or not');
      const again = await begin({ serviceId: 'once' });
      assert.notEqual(again?.messageId, completedMessage.messageId);
      const { status, response } = (await findMessage('once')) ?? {};
      assert.deepEqual(
        [status, response],
        ['Waiting', undefined],
        'nothing of the old one is left',
      );
      await store.complete(completedMessage, { text: '{"a":2}', result: 'Success' });
      assert.equal((await findMessage('once'))?.status, 'Waiting', 'a late end is of the old one');
    });

    it('stay stored, and the server deletes older messages in small batches', async () => {
      const count = async () => {
        const [row] = await database.query<{ count: number }>(
          'SELECT count(*)::int AS count FROM retail_messages WHERE physical_device_id = $1',
          [terminal.physicalDeviceId],
        );
        return row?.count;
      };
      clock.at = start - 200 * hourMs;
      for (let at = 0; at < 5; at += 1) await begin();
      clock.at += 48 * hourMs + 1;
      await begin({ serviceId: 'young' });
      assert.equal(await store.deleteOld(2), 2);
      assert.equal(await store.deleteOld(10), 3);
      assert.equal(await store.deleteOld(10), 0);
      assert.deepEqual([await count(), (await findMessage('young'))?.status], [1, 'Waiting']);
    });
  });

  describe('of tills', () => {
    let exchange: MessageSender;
    let lines: TerminalSessionPool;
    let claims: number;
    let released: number;
    let device:
      | { heard: string[]; say(text: string): void; drop(): void; isLeft: boolean }
      | undefined;
    const publishedMessage: MessageKey[] = [];
    let onClaim: (signal: AbortSignal, claimOptions: ClaimOptions) => Promise<void>;

    function relay(): RetailConnector {
      return {
        claims: {
          async claim(_asking: unknown, claimOptions: ClaimOptions, signal: AbortSignal) {
            claims += 1;
            await onClaim(signal, claimOptions);
            return { sessionId: randomUUID(), device: terminal, owner: 'a' };
          },
          async release() {
            released += 1;
            return true;
          },
          status: () => assert.fail('unexpected status request'),
        } as never,
        presence: {} as never,
        backplane: createLocalBackplane(),
        joinSession(_sessionId, end) {
          const heard: string[] = [];
          const made = {
            heard,
            say: (text: string) => end.send(text),
            drop: () => end.close(closeCodes.deviceDisconnected, 'device_disconnected'),
            isLeft: false,
          };
          device = made;
          return {
            receive: (data) => void heard.push(data.toString()),
            disconnected() {
              made.isLeft = true;
            },
          };
        },
      };
    }

    beforeEach(() => {
      claims = 0;
      released = 0;
      device = undefined;
      onClaim = async () => {};
    });

    function make(answerMs: number, over: Partial<MessageStore> = {}): void {
      publishedMessage.length = 0;
      const terminals = {
        find: async () => terminal,
        asAssigned: () => terminal,
      } as unknown as RetailTerminals;
      lines = createTerminalSessionPool({ connector: relay(), clock });
      exchange = createMessageSender({
        sessionPool: lines,
        store: { ...store, ...over },
        terminals,
        clock,
        dueClock: clock,
        log,
        times: { answerMs },
        onCompleted: (completedMessage) => void publishedMessage.push(completedMessage),
      });
    }

    const caller = { clientId: 'c1', entityType: 'merchant' };
    function callOf(
      message: object,
      facts: { signal?: AbortSignal; clientId?: string } = {},
    ): MessageCall {
      const { signal = new AbortController().signal, clientId = 'c1' } = facts;
      const asking = {
        caller: { ...caller, clientId },
        author: {},
      } as unknown as MessageCall['posCaller'];
      return {
        posCaller: asking,
        tsn: terminal.tsn,
        body: Buffer.from(JSON.stringify(message)),
        signal,
      };
    }

    const codeOf = (answerPromise: Promise<unknown>) =>
      answerPromise.then(
        () => assert.fail('it was answered'),
        (error: unknown) => {
          assert.ok(error instanceof ProblemError, String(error));
          return error;
        },
      );

    const heardOf = async () => {
      await eventually('the terminal receives it', () => (device?.heard.length ?? 0) > 0);
      return device?.heard.at(-1) ?? '';
    };

    function answerTo(text: string): string {
      const { MessageHeader } = JSON.parse(text).SaleToPOIRequest;
      const header = { ...MessageHeader, MessageType: 'Response' };
      const body = { Response: { Result: 'Success' } };
      return JSON.stringify({
        SaleToPOIResponse: { MessageHeader: header, PaymentResponse: body },
      });
    }

    const answer = (text: string) => device?.say(answerTo(text));

    it('fail with timeout when no response arrives in time, and the server releases the terminal', async () => {
      make(30);
      const payment = paymentOf();
      const { code, outcome } = await codeOf(exchange.sendAndWait(callOf(payment)));
      assert.deepEqual([code, outcome], ['timeout', 'Unknown']);
      await exchange.waitForIdle();
      const { serviceId } = { serviceId: headerOf(payment)['ServiceID'] };
      const completedMessage = await findMessage(serviceId);
      assert.deepEqual([completedMessage?.status, completedMessage?.fault], ['Failed', 'timeout']);
      assert.equal(device?.isLeft, true);
      assert.equal(publishedMessage.length, 1);
      // No till waits for the late response; the till uses TransactionStatus.
      device?.say(answerTo(JSON.stringify(payment)));
      await exchange.waitForIdle();
      assert.equal((await findMessage(serviceId))?.status, 'Failed');
    });

    it('have 150 seconds where nothing else is said, by the clock that is given', async () => {
      make(150_000);
      const accepted = await exchange.sendWithoutWaiting(callOf(paymentOf()));
      assert.equal(Date.parse(accepted.dueAt), clock.at + 150_000);
      device?.say(answerTo(await heardOf()));
      await exchange.waitForIdle();
      assert.equal((await findMessage(accepted.serviceId))?.status, 'Answered');
    });

    // Spec: NEXO-26
    it('whose connection breaks while the terminal works get the answer later', async () => {
      make(60_000);
      const abortController = new AbortController();
      const payment = paymentOf();
      const answerPromise = exchange.sendAndWait(
        callOf(payment, { signal: abortController.signal }),
      );
      const heard = await heardOf();
      abortController.abort();
      assert.deepEqual(
        device?.heard.length,
        1,
        'the terminal receives no abort: a card may be inserted',
      );
      device?.say(answerTo(heard));
      assert.ok(await answerPromise);
      await exchange.waitForIdle();
      assert.equal((await findMessage(headerOf(payment)['ServiceID']))?.result, 'Success');
    });

    it('whose connection breaks while they wait for the terminal have sent nothing', async () => {
      make(60_000);
      const abortController = new AbortController();
      onClaim = (signal) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      const payment = paymentOf();
      const answerPromise = codeOf(
        exchange.sendAndWait(callOf(payment, { signal: abortController.signal })),
      );
      await eventually('the claim', () => claims === 1);
      abortController.abort();
      assert.equal((await answerPromise).outcome, 'NotProcessed');
      assert.deepEqual(device?.heard, []);
      assert.equal(released, 1, 'the claim is released');
      assert.equal(
        await findMessage(headerOf(payment)['ServiceID']),
        undefined,
        'its ServiceID is good',
      );
      // The same holds if another message of the till opened the session.
      onClaim = async () => {};
      const other = exchange.sendAndWait(callOf(paymentOf()));
      const heard = await heardOf();
      const late = exchange.sendAndWait(callOf(payment, { signal: AbortSignal.abort() }));
      assert.equal((await codeOf(late)).outcome, 'NotProcessed');
      assert.equal(device?.heard.length, 1);
      device?.say(answerTo(heard));
      await other;
    });

    describe('that share a session', () => {
      let claimCalls = 0;
      const pending: {
        settle(reason?: 'device_offline'): void;
        waitSeconds: number | undefined;
      }[] = [];

      /** Joins the open session of its till, or opens one. */
      async function join(message: Json, facts: { waitSeconds: number; signal?: AbortSignal }) {
        const before = claimCalls;
        const { waitSeconds, ...rest } = facts;
        const answered = exchange.sendAndWait({ ...callOf(message, rest), waitSeconds });
        answered.catch(() => {});
        await eventually('it waits for the terminal', () => claimCalls > before);
        return { answered };
      }

      beforeEach(() => {
        claimCalls = 0;
        pending.length = 0;
        make(60_000, {
          async find(...of) {
            const first = await store.find(...of);
            claimCalls += 1;
            return first;
          },
        });
        onClaim = (signal, { waitSeconds }) =>
          new Promise((resolve, reject) => {
            const settle = (reason?: 'device_offline') =>
              reason === undefined ? resolve() : reject(new ConnectorFault(reason));
            pending.push({ settle, waitSeconds });
            signal.addEventListener('abort', () => settle('device_offline'));
          });
      });

      // Spec: NEXO-19
      it('get it though the one that opened it hangs up', async () => {
        const abortController = new AbortController();
        const first = await join(paymentOf(), { waitSeconds: 20, signal: abortController.signal });
        const payment = paymentOf();
        const second = await join(payment, { waitSeconds: 20 });
        abortController.abort();
        pending[0]?.settle();
        answer(await heardOf());
        assert.match((await second.answered) ?? '', /Success/);
        assert.equal((await codeOf(first.answered)).outcome, 'NotProcessed');
        assert.deepEqual([claims, device?.heard.length], [1, 1]);
      });

      it('give it up once all have hung up', async () => {
        const [one, other] = [new AbortController(), new AbortController()];
        const first = await join(paymentOf(), { waitSeconds: 20, signal: one.signal });
        const second = await join(paymentOf(), { waitSeconds: 20, signal: other.signal });
        one.abort();
        other.abort();
        for (const { answered } of [first, second]) {
          assert.equal((await codeOf(answered)).code, 'device_offline');
        }
      });

      it('wait as long as they said, and not as the one that opened it', async () => {
        const joinedWithoutWait = await join(paymentOf(), { waitSeconds: 0 });
        const long = await join(paymentOf(), { waitSeconds: 30 });
        clock.at += 10_000;
        pending[0]?.settle('device_offline');
        assert.equal((await codeOf(joinedWithoutWait.answered)).code, 'device_offline');
        await eventually('a claim of its own', () => pending.length === 2);
        assert.equal(pending[1]?.waitSeconds, 20, 'the remaining time');
        pending[1]?.settle();
        answer(await heardOf());
        assert.match((await long.answered) ?? '', /Success/);
      });
    });

    // Spec: NEXO-19
    it('fail with device_disconnected if the terminal disconnects before the server sends an abort', async () => {
      make(60_000, {
        create(message) {
          // The device disconnects immediately before the message is stored.
          device?.drop();
          return store.create(message);
        },
      });
      const abort = requestOf('Abort', { AbortReason: 'customer' });
      const { code, outcome } = await codeOf(exchange.sendAndWait(callOf(abort)));
      assert.deepEqual([code, outcome], ['device_disconnected', 'Unknown']);
      assert.deepEqual(device?.heard, []);
      const { status, fault } = (await findMessage(headerOf(abort)['ServiceID'])) ?? {};
      assert.deepEqual([status, fault], ['Failed', 'device_disconnected']);
    });

    it('all get an answer when the process stops, and the server refuses new messages', async () => {
      make(60_000);
      const paid = paymentOf();
      const paying = codeOf(exchange.sendAndWait(callOf(paid)));
      await heardOf();
      // The terminal is offline, and the claim of another till waits for it.
      onClaim = (signal) =>
        new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(new ConnectorFault('device_offline'))),
        );
      const waited = paymentOf();
      const waiting = codeOf(exchange.sendAndWait(callOf(waited, { clientId: 'c2' })));
      await eventually('its claim', () => claims === 2);
      const stopped = lines.stop().then(exchange.waitForIdle);
      const late = [paymentOf(), paymentOf()];
      const [first, second] = late.map((message) => callOf(message));
      assert.ok(first && second);
      const refused = [
        codeOf(exchange.sendAndWait(first)),
        codeOf(exchange.sendWithoutWaiting(second)),
        waiting,
      ];
      for (const { code, outcome, retryAfterMs } of await Promise.all(refused)) {
        assert.deepEqual([code, outcome, retryAfterMs], ['shutting_down', 'NotProcessed', 1000]);
      }
      const { code, extensions } = await paying;
      assert.deepEqual([code, extensions], ['session_lost', { reason: 'restarting' }]);
      await stopped;
      assert.equal(
        (await findMessage(headerOf(paid)['ServiceID']))?.fault,
        'session_lost',
        'it is noted',
      );
      for (const message of [waited, ...late]) {
        assert.equal(
          await findMessage(headerOf(message)['ServiceID']),
          undefined,
          'nothing was sent',
        );
      }
      assert.equal(claims, 2);
    });

    it('have a number of messages under way, each client its own', async () => {
      make(60_000);
      const answerPromises = Array.from({ length: 1000 }, () =>
        exchange.sendAndWait(callOf(paymentOf())),
      );
      await eventually('all are received', () => device?.heard.length === 1000);
      const full = device;
      const refusal = await codeOf(exchange.sendAndWait(callOf(paymentOf())));
      assert.deepEqual([refusal.code, refusal.retryAfterMs], ['rate_limited', 1000]);
      assert.equal(
        (await codeOf(exchange.sendWithoutWaiting(callOf(paymentOf())))).code,
        'rate_limited',
      );
      device = undefined;
      const other = exchange.sendAndWait(callOf(paymentOf(), { clientId: 'c2' }));
      answer(await heardOf());
      await other;
      for (const text of full?.heard ?? []) full?.say(answerTo(text));
      await Promise.all(answerPromises);
      device = undefined;
      const again = exchange.sendAndWait(callOf(paymentOf()));
      answer(await heardOf());
      await again;
    });

    it('that send a device message twice at once are answered once', async () => {
      make(60_000);
      const display = {
        DisplayOutput: [
          {
            Device: 'CustomerDisplay',
            InfoQualify: 'Display',
            OutputContent: { OutputFormat: 'Text', OutputText: [{ Text: 'Hello' }] },
          },
        ],
      };
      const message = requestOf('Display', display, { MessageClass: 'Device', DeviceID: 'D1' });
      const first = exchange.sendAndWait(callOf(message));
      await heardOf();
      const second = await codeOf(exchange.sendAndWait(callOf(message)));
      assert.deepEqual([second.code, second.outcome], ['service_id_reused', 'NotProcessed']);
      const { MessageHeader } = message['SaleToPOIRequest'];
      const header = { ...MessageHeader, MessageType: 'Response' };
      device?.say(JSON.stringify({ SaleToPOIResponse: { MessageHeader: header } }));
      assert.match((await first) ?? '', /SaleToPOIResponse/);
    });

    it('get the response of the terminal although its storage fails, and the server retries the storage', async () => {
      let tries = 0;
      make(60_000, {
        complete(completedMessage, outcome) {
          tries += 1;
          return tries === 1
            ? Promise.reject(new Error('away'))
            : store.complete(completedMessage, outcome);
        },
      });
      const payment = paymentOf();
      const answerPromise = exchange.sendAndWait(callOf(payment));
      answer(await heardOf());
      assert.match((await answerPromise) ?? '', /Success/);
      await exchange.waitForIdle();
      assert.equal(tries, 2);
      assert.equal((await findMessage(headerOf(payment)['ServiceID']))?.status, 'Answered');
      assert.ok(logged.some((line) => line.includes('could not store the answer')));
    });
  });
});
