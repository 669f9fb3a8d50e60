// A terminal for tests: a fake platform, short times, and all answers.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import {
  type AnyMessage,
  isMessage,
  type Message,
  readMessage,
  referenceTo,
  repeatedBy,
  requestOf,
  resultOf,
  writeMessage,
} from '@switchyard/nexo';
import { systemClock } from '@switchyard/sdk-device';
import type { TerminalChannel, TerminalEvent } from './context/service-context.ts';
import type { TerminalOptions } from './context/terminal-interface.ts';
import { createFakePlatform } from './platform/fake-platform.fixture.ts';
import { createTerminal } from './terminal.ts';

export const poiId = 'AXIUM_DX8000-10000001';
export const at = '2026-03-01T10:00:00.000Z';
export const keys = {
  baseDerivationKey: '0123456789ABCDEFFEDCBA9876543210',
  ksn: 'FFFF9876543210E00001',
};
export const shortTimes = {
  stepMs: 1,
  cardWaitMs: 20,
  lateAnswerMs: 5,
  rebootMs: 5,
  enquiryMs: 1,
  saleValidMs: 5,
};
const folders: string[] = [];
export const saleData = { SaleTransactionID: { TransactionID: '4711', TimeStamp: at } };
let services = 0;

after(() => {
  for (const directory of folders) rmSync(directory, { recursive: true, force: true });
});

export function temporaryFolder(): string {
  const made = mkdtempSync(join(tmpdir(), 'switchyard-terminal-'));
  folders.push(made);
  return made;
}

/** The address of a new service request. */
export const newAddress = (saleId = 'till-3') => {
  services += 1;
  return { saleId, poiId, serviceId: `S${services}` };
};

export const paymentRequest = (amount: number, members: object = {}, to = newAddress()) =>
  requestOf('Payment', to, {
    SaleData: saleData,
    PaymentTransaction: { AmountsReq: { Currency: 'EUR', RequestedAmount: amount } },
    ...members,
  });

/** The request that undoes a sale of 10: a refund of the original, or its reversal. */
export function undoRequest(
  category: 'Payment' | 'Reversal',
  sold: AnyMessage | undefined,
): AnyMessage {
  assert.ok(sold && isMessage(sold, 'Payment', 'Response'));
  const OriginalPOITransaction = { POITransactionID: sold.body.POIData?.POITransactionID };
  if (category === 'Reversal') {
    return requestOf('Reversal', newAddress(), {
      OriginalPOITransaction,
      ReversalReason: 'CustCancel',
    } as never) as AnyMessage;
  }
  return paymentRequest(10, {
    PaymentTransaction: {
      AmountsReq: { Currency: 'EUR', RequestedAmount: 10 },
      OriginalPOITransaction,
    },
    PaymentData: { PaymentType: 'Refund' },
  });
}

/** A till with a cashier on a two-way channel; keeps all messages of the terminal. */
export async function cashierTill(
  { terminal }: Pick<ReturnType<typeof createTestTerminal>, 'terminal'>,
  hear: (message: AnyMessage, channel: TerminalChannel) => void = () => undefined,
) {
  const sent: AnyMessage[] = [];
  const channel: TerminalChannel = {
    isTwoWay: true,
    send(text) {
      const reading = readMessage(text);
      assert.ok(reading.kind === 'Message');
      sent.push(reading.message);
      hear(reading.message, channel);
    },
    drop: () => undefined,
  };
  const login = requestOf('Login', newAddress(), {
    DateTime: at,
    SaleSoftware: { ApplicationName: 'till', SoftwareVersion: '1' },
    OperatorLanguage: 'en',
    SaleTerminalData: { SaleCapabilities: ['CashierInput', 'CashierStatus'] },
  });
  terminal().attach(channel);
  await terminal().receive(writeMessage(login), channel);
  return {
    sent,
    pay: (message: AnyMessage) => terminal().receive(writeMessage(message), channel),
    answer: () => sent.find((message) => isMessage(message, 'Payment', 'Response')),
    isAsked: () => sent.some((message) => isMessage(message, 'Input', 'Request')),
  };
}

/** The answer to a batch, as the terminal has stored it. */
export function batchAnswerIn(directory: string): Message<'Batch', 'Response'> | undefined {
  const lines = readFileSync(join(directory, 'terminal.jsonl'), 'utf8').split('\n').slice(0, -1);
  const records = lines.flatMap((line) => JSON.parse(line).dialogue?.put ?? []);
  const answer = records.findLast(({ category }) => category === 'Batch')?.answer as AnyMessage;
  return answer !== undefined && isMessage(answer, 'Batch', 'Response') ? answer : undefined;
}

export type TestTerminal = ReturnType<typeof createTestTerminal>;

export function createTestTerminal(
  options: Partial<TerminalOptions> = {},
  dataDir = temporaryFolder(),
) {
  const fake = createFakePlatform();
  const events: TerminalEvent[] = [];
  const make = () =>
    createTerminal({
      tsn: poiId,
      dataDir,
      platform: fake.platform,
      keys,
      now: systemClock.now,
      random: (size: number) => randomBytes(size),
      times: shortTimes,
      onEvent: (event) => void events.push(event),
      ...options,
    });
  let terminal = make();

  /** All answers to one message. */
  async function send(message: AnyMessage, isTwoWay = false) {
    const texts: string[] = [];
    let isDropped = false;
    const channel: TerminalChannel = {
      isTwoWay,
      send: (text) => void texts.push(text),
      drop: () => {
        isDropped = true;
      },
    };
    await terminal.receive(writeMessage(message), channel);
    const answers = texts.map((text) => {
      const reading = readMessage(text);
      return reading.kind === 'Message' ? reading.message : undefined;
    });
    return { texts, answers, isDropped, first: answers[0] };
  }

  async function conditionOf(message: AnyMessage): Promise<string> {
    const { first } = await send(message);
    assert.ok(first, 'an answer');
    const { Result, ErrorCondition } = resultOf(first) ?? {};
    return ErrorCondition ?? String(Result);
  }

  async function statusOf(message: AnyMessage): Promise<AnyMessage | undefined> {
    const status = requestOf('TransactionStatus', newAddress(), {
      MessageReference: referenceTo(message.header),
    });
    const { first } = await send(status);
    assert.ok(first && isMessage(first, 'TransactionStatus', 'Response'));
    return repeatedBy(first);
  }

  return {
    fake,
    events,
    dataDir,
    ask: send,
    conditionOf,
    statusOf,
    terminal: () => terminal,
    async restart() {
      await terminal.stop();
      terminal = make();
    },
  };
}
