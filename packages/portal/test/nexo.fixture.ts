// A till and a terminal without a browser between them: a line that can be cut, and a platform that can lose answers.
import type { Transaction } from '@switchyard/contract';
import { readMessage } from '@switchyard/nexo';
import {
  createPointOfSale,
  type PointOfSale,
} from '../src/screens/virtual-terminal/nexo/point-of-sale/point-of-sale.ts';
import type { DeliveryResult } from '../src/screens/virtual-terminal/nexo/point-of-sale/send-to-terminal.ts';
import type {
  PaymentApi,
  PlatformAnswer,
} from '../src/screens/virtual-terminal/nexo/terminal/payment-api.ts';
import {
  createTerminal,
  type Terminal,
} from '../src/screens/virtual-terminal/nexo/terminal/terminal.ts';
import type { ScreenState } from '../src/screens/virtual-terminal/nexo/terminal/terminal-panel.ts';
import {
  type CardEntryMethod,
  testCards,
} from '../src/screens/virtual-terminal/nexo/terminal/test-cards.ts';

export const tsn = 'AXIUM_DX8000-10000001';
const turnsMost = 5_000;
const endMs = 6_000;
const declinedTail = 9_051;
const cycle = 10_000;

type Members = Readonly<Record<string, unknown>>;
export type Sold = { readonly body: Members; readonly transaction: Transaction };

/** Until it is so; each turn lets everything run that can. */
export async function until(description: string, check: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < turnsMost; attempt += 1) {
    if (check()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`never: ${description}`);
}

function shelf(texts = new Map<string, string>()) {
  return {
    copy: () => shelf(new Map(texts)),
    getItem: (name: string) => texts.get(name) ?? null,
    setItem: (name: string, text: string) => void texts.set(name, text),
    whole: () => [...texts.values()].join('\n'),
  };
}

function transactionOf(body: Members, number: number): Transaction {
  const amount = Number(body['amount']);
  const isDeclined = amount % cycle === declinedTail;
  const copy = {
    merchantName: 'Café',
    acquirerMerchantId: '9',
    terminalId: 'T1',
    operation: 'Sale',
    amountText: `${amount} EUR`,
    responseText: 'APPROVED',
    at: '2026-03-01T10:00:00.000Z',
    scheme: 'Visa',
    maskedNumber: '411111******1111',
    entryMode: 'Keyed',
  };
  return {
    transactionId: `0199-${number}`,
    clientTransactionId: String(body['clientTransactionId']),
    amount,
    currency: body['currency'],
    authorizedAmount: isDeclined ? 0 : amount,
    state: isDeclined ? 'Declined' : 'Captured',
    approved: !isDeclined,
    operations: [],
    createdAt: '2026-03-01T10:00:00.000Z',
    updatedAt: '2026-03-01T10:00:00.000Z',
    card: { scheme: 'Visa', maskedNumber: '411111******1111' },
    receipt: { merchant: copy, cardholder: copy },
    ...(isDeclined
      ? { response: { category: 'HardDecline', reason: 'InsufficientFunds' } }
      : { authorizationCode: 'A1' }),
  } as unknown as Transaction;
}

/** What happens to the next sale on its way: its answer is lost, it is never let in, or there is no answer at all. */
export type Trouble = 'AnswerLost' | 'NeverCame' | 'Hangs';

export function fakePlatform() {
  const sold: Sold[] = [];
  const operations: (Members & { id: string; verb: string })[] = [];
  let trouble: Trouble | undefined;
  let isReachable = true;
  let isHeld = false;
  let isLate = false;
  let isConfirmationLost = false;
  const confirmed = new Set<string>();
  let free = () => {};
  const released = new Promise<void>((resolve) => {
    free = resolve;
  });
  const find = (id: string) =>
    sold.find(({ transaction }) =>
      [transaction.transactionId, transaction.clientTransactionId].includes(id),
    );
  const refused = (status: number, code: string): PlatformAnswer => ({
    outcome: 'Refused',
    status,
    code,
  });
  const platform: PaymentApi = {
    async sell(body) {
      const met = trouble;
      trouble = undefined;
      if (met === 'NeverCame') return { outcome: 'Unknown' };
      const transaction = transactionOf(body, sold.length + 1);
      sold.push({ body, transaction });
      if (met === 'Hangs') return new Promise<PlatformAnswer>(() => {});
      if (isHeld) await released;
      return met === 'AnswerLost' ? { outcome: 'Unknown' } : { outcome: 'Answered', transaction };
    },
    async find(id) {
      if (!isReachable) return { outcome: 'Unknown' };
      const entry = find(id);
      if (entry === undefined) return refused(404, 'transaction_not_found');
      return { outcome: 'Answered', transaction: entry.transaction };
    },
    async confirm(id) {
      if (!isReachable) return { outcome: 'Unknown' };
      const entry = find(id);
      if (entry === undefined) return refused(404, 'transaction_not_found');
      if (isLate) return refused(422, 'transaction_reversed');
      confirmed.add(entry.transaction.transactionId);
      return isConfirmationLost
        ? { outcome: 'Unknown' }
        : { outcome: 'Answered', transaction: entry.transaction };
    },
    async operate(id, verb, body) {
      if (!isReachable) return { outcome: 'Unknown' };
      const entry = find(id);
      if (entry === undefined) return refused(404, 'transaction_not_found');
      const { transactionId } = entry.transaction;
      if (verb === 'cancel' && confirmed.has(transactionId))
        return refused(422, 'already_captured');
      const { clientOperationId } = body;
      const isNew = !operations.some((one) => one['clientOperationId'] === clientOperationId);
      if (isNew) operations.push({ ...body, id, verb });
      const operation = { operationId: `0200-${operations.length}`, status: 'Succeeded' };
      const transaction = { ...entry.transaction, operation } as unknown as Transaction;
      return { outcome: 'Answered', transaction };
    },
    reversalOperation: async () => 'refund',
    isAvailable: async () => isReachable,
  };
  return {
    platform,
    sold,
    operations,
    confirmed,
    /** What is not confirmed yet goes back. */
    late() {
      isLate = true;
    },
    loseConfirmations() {
      isConfirmationLost = true;
    },
    meet(next: Trouble) {
      trouble = next;
    },
    setReachable(next: boolean) {
      isReachable = next;
    },
    /** Answers of sales wait from now on. */
    hold() {
      isHeld = true;
      return () => free();
    },
  };
}

export function nexoStage(cloud = fakePlatform()) {
  let terminalShelf = shelf();
  const tillShelf = shelf();
  const faults: unknown[] = [];
  const waiting = new Map<string, (result: DeliveryResult) => void>();
  const sentTexts: string[] = [];
  let at = Date.parse('2026-03-01T10:00:00.000Z');
  let isCut = false;
  let life = { isOver: false };
  const now = () => at;
  let terminal: Terminal;
  let till: PointOfSale;

  function pairIn(text: string): string {
    const reading = readMessage(text);
    if (reading.kind !== 'Message') return '';
    const { MessageCategory, ServiceID } = reading.message.header;
    return `${MessageCategory} ${ServiceID}`;
  }

  /** What a page that is gone asks is never answered. */
  function platformOf(page: { isOver: boolean }): PaymentApi {
    const whilePageIsOpen =
      <Args extends unknown[], Answer>(name: (...args: Args) => Promise<Answer>) =>
      (...args: Args) =>
        page.isOver ? new Promise<Answer>(() => {}) : name(...args);
    const { platform } = cloud;
    return {
      sell: whilePageIsOpen((body) => platform.sell(body)),
      confirm: whilePageIsOpen((id) => platform.confirm(id)),
      find: whilePageIsOpen((id) => platform.find(id)),
      operate: whilePageIsOpen((id, verb, body) => platform.operate(id, verb, body)),
      reversalOperation: whilePageIsOpen((id) => platform.reversalOperation(id)),
      isAvailable: whilePageIsOpen(() => platform.isAvailable()),
    };
  }

  function newTerminal(): Terminal {
    life = { isOver: false };
    const made = createTerminal({
      tsn,
      now,
      platform: platformOf(life),
      storage: terminalShelf,
      randomHex: (bytes) => 'A5'.repeat(bytes),
      async pause(ms) {
        // What an end shows stays.
        if (ms === endMs) return new Promise<void>(() => {});
        at += ms;
        return new Promise((resolve) => setImmediate(resolve));
      },
      send(text) {
        if (isCut || made !== terminal) return;
        sentTexts.push(text);
        const pair = pairIn(text);
        if (!text.includes('SaleToPOIResponse')) return;
        waiting.get(pair)?.({ kind: 'Answered', text });
        waiting.delete(pair);
      },
      onFault: (fault) => faults.push(fault),
    });
    made.ready.catch((fault: unknown) => faults.push(fault));
    return made;
  }

  function send(text: string): Promise<DeliveryResult> {
    if (isCut) return Promise.resolve({ kind: 'NotSent', fault: 'device_offline' });
    return new Promise<DeliveryResult>((resolve) => {
      const isAnswered = !text.includes('"Abort"');
      if (isAnswered) waiting.set(pairIn(text), resolve);
      terminal.receive(text);
      if (!isAnswered) resolve({ kind: 'Taken' });
    });
  }

  function newTill(): PointOfSale {
    let last = 0;
    const made = createPointOfSale({
      tsn,
      saleId: 'page-1',
      now,
      send,
      storage: tillShelf,
      randomBelow: () => 1,
      newId() {
        last += 1;
        return `order-${last}`;
      },
      after(ms, then) {
        const timer = setImmediate(() => {
          at += ms;
          then();
        });
        return () => clearImmediate(timer);
      },
      onChange() {},
      onFault: (fault) => faults.push(fault),
    });
    return made;
  }

  function cut(): void {
    isCut = true;
    for (const resolve of waiting.values())
      resolve({ kind: 'Unknown', fault: 'device_disconnected' });
    waiting.clear();
  }

  terminal = newTerminal();
  till = newTill();
  return {
    cloud,
    faults,
    sentTexts,
    tillShelf,
    cut,
    send,
    terminalShelf: () => terminalShelf,
    terminal: () => terminal,
    till: () => till,
    mend() {
      isCut = false;
    },
    /** The page is loaded again: nothing of the old one continues, and both begin with their stored data. */
    reload() {
      cut();
      till.stop();
      life.isOver = true;
      terminalShelf = terminalShelf.copy();
      void terminal.switchOff('Left');
      terminal = newTerminal();
      till = newTill();
      isCut = false;
      till.start();
    },
    advance(ms: number) {
      at += ms;
    },
    shows: (state: ScreenState['state']) =>
      until(`the terminal shows ${state}`, () => terminal.panel.screen().state === state),
    ended: () => until('the till knows the end', () => till.view().ended !== undefined),
    present(name: (typeof testCards)[number]['name'], way: CardEntryMethod) {
      const card = testCards.find((each) => each.name === name);
      if (card !== undefined) terminal.panel.present({ card, way });
    },
    type(digits: string) {
      for (const digit of digits) terminal.panel.press(digit as '1');
      terminal.panel.press('Ok');
    },
    close: () => terminal.switchOff('Left'),
  };
}
