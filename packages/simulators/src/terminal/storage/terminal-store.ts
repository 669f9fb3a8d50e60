// What the terminal keeps over a restart: plain data, of which each change is written down before anything is told.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type {
  AnyMessage,
  Header,
  OpenValue,
  PoiMemory,
  ServiceRecord,
  Structure,
} from '@switchyard/nexo';
import { type AccountBalances, noBalances } from './gift-card-and-point-balances.ts';
import { openJsonLinesJournal } from './json-lines-journal.ts';
import { noPeriods, type ReconciliationPeriods } from './reconciliation-totals.ts';

/** What was begun at the platform and has no answer to the till yet. */
export type PendingSale = {
  readonly header: Header;
  readonly saleData: Structure<'SaleData'>;
  readonly kind: 'Sale' | 'Reservation';
  readonly clientTransactionId: string;
  readonly amount: number;
  readonly currency: string;
  /** The platform takes the sale until then and no longer, epoch milliseconds. */
  readonly until: number;
  /** Whose terminal it was. */
  readonly merchant?: string | undefined;
  /** It stands in the books. */
  readonly isBooked?: true;
  /** It is taken back, whatever the platform says of it now: what its till is told. */
  readonly givenBack?: { readonly condition: OpenValue<'ErrorCondition'>; readonly why: string };
};

/** An operation on an original that was begun at the platform and has no answer to the till yet. */
export type PendingOperation = {
  readonly header: Header;
  readonly id: string;
  readonly verb: 'capture' | 'refund' | 'cancel';
  /** With its own identifier: asked again, it is the same operation. */
  readonly body: Readonly<Record<string, unknown>>;
  /** What the answer repeats of the request. */
  readonly saleData?: Structure<'SaleData'> | undefined;
  readonly type?: string | undefined;
  readonly isBooked?: true;
};

/**
 * The answer to what the terminal has done by itself: kept in the line that tells what was done, so that no restart
 * finds the one without the other.
 */
export type PendingAnswer = { readonly header: Header; readonly body: AnyMessage['body'] };

/** Several requests in one: what of it is done. What it is doing stands beside it, under the same header. */
export type PendingBatch = {
  readonly header: Header;
  /** So many were asked for. */
  readonly wanted: number;
  readonly performed: readonly Structure<'PerformedTransaction'>[];
};

/** What the platform refused stays: it is asked again, ever more slowly, and told once for each reason. */
type Retryable = {
  /** Why it was refused last. */
  readonly refused?: string;
  readonly refusals?: number;
  /** It is not asked again before, epoch milliseconds. */
  readonly againAt?: number;
};

/** A sale that is taken back: it is owed until the platform says that nothing is left to give back. */
export type PendingReversal = Retryable & {
  readonly clientTransactionId: string;
  readonly reason: 'Timeout' | 'CardRemoved' | 'ChipDeclined' | 'CustomerCancel';
  readonly until: number;
  /** Whose terminal sold it. */
  readonly merchant?: string | undefined;
  /** So many refunds of it have failed for good: the next has another identifier. */
  readonly spent?: number;
};

/** A sale that the chip approved: sent on when the platform can be reached. Its card data is encrypted. */
export type OfflineSale = Retryable & {
  readonly body: Readonly<Record<string, unknown>>;
  /** Whose terminal sold it, where that was known. */
  readonly merchant?: string | undefined;
};

export type TerminalState = {
  readonly dialogue?: PoiMemory;
  /** Of transactions, of keys, of offline sales: each only grows. */
  readonly transactions: number;
  readonly keys: number;
  readonly offlineSales: number;
  /** Whose terminal it was when that was asked last. */
  readonly merchant?: string | undefined;
  readonly pending?: PendingSale | undefined;
  readonly operation?: PendingOperation | undefined;
  readonly answerDue?: PendingAnswer | undefined;
  readonly batch?: PendingBatch | undefined;
  readonly reversals: readonly PendingReversal[];
  readonly uploads: readonly OfflineSale[];
  readonly books: ReconciliationPeriods;
  readonly accounts: AccountBalances;
};

export type TerminalStore = {
  read(): TerminalState;
  /** Changes some members, and writes down what of them is new. */
  update(changes: Partial<TerminalState>): TerminalState;
};

/** What is new of the services: those that changed, those that were forgotten, who is logged in. */
type DialogueChange = {
  readonly put?: readonly ServiceRecord[];
  readonly gone?: readonly string[];
  readonly loggedIn?: readonly string[];
};
/** What may be done and has no answer yet. */
const pendingNames = ['pending', 'operation', 'answerDue', 'batch'] as const;
type PendingMembers = Pick<TerminalState, (typeof pendingNames)[number]>;
type PlainMembers = Omit<TerminalState, keyof PendingMembers | 'dialogue' | 'books' | 'accounts'>;
/** Null where it is over. */
type PendingChange = { readonly [Name in keyof PendingMembers]?: PendingMembers[Name] | null };
/** A change; members that are as they were are left out. */
type Line = PendingChange & {
  readonly set?: Partial<PlainMembers>;
  readonly books?: Partial<ReconciliationPeriods>;
  readonly accounts?: Partial<AccountBalances>;
  readonly dialogue?: DialogueChange;
};

const emptyState: TerminalState & { readonly dialogue: PoiMemory } = {
  dialogue: { services: [], loggedIn: [] },
  transactions: 0,
  keys: 0,
  offlineSales: 0,
  reversals: [],
  uploads: [],
  books: noPeriods,
  accounts: noBalances,
};
const ownerOnlyDirectory = 0o700;
const fileName = 'terminal.jsonl';

const keyOf = ({ saleId, serviceId }: ServiceRecord): string => `${saleId}\n${serviceId}`;
const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

type Services = Map<string, ServiceRecord>;

/** Without the members that tell nothing; undefined where none is left. */
function withoutUndefined<Of extends object>(members: Of): Of | undefined {
  const definedMembers = Object.entries(members).filter(([, value]) => value !== undefined);
  return definedMembers.length === 0 ? undefined : (Object.fromEntries(definedMembers) as Of);
}

/** The members that are another value than before. */
function changedMembers<Of extends object>(
  before: Of,
  after: Partial<Of> = {},
): Partial<Of> | undefined {
  const names = Object.keys(after) as (keyof Of)[];
  const changed = names.filter((name) => before[name] !== after[name]);
  return withoutUndefined(
    Object.fromEntries(changed.map((name) => [name, after[name]])) as Partial<Of>,
  );
}

/** Records never change: one that is another object is new. */
function dialogueChange(
  before: Services,
  { services }: PoiMemory,
): Pick<DialogueChange, 'put' | 'gone'> {
  const put = services.filter((record) => before.get(keyOf(record)) !== record);
  const added = put.filter((record) => !before.has(keyOf(record))).length;
  const more = put.length === 0 ? {} : { put };
  if (before.size + added === services.length) return more;
  const remaining = new Set(services.map(keyOf));
  return { ...more, gone: [...before.keys()].filter((key) => !remaining.has(key)) };
}

function applyTo(services: Services, { put = [], gone = [] }: DialogueChange): void {
  for (const key of gone) services.delete(key);
  for (const record of put) {
    const key = keyOf(record);
    // Forgotten and used again at once: it is the youngest now.
    if (services.get(key)?.at !== record.at) services.delete(key);
    services.set(key, record);
  }
}

/** What was begun or is over now. */
function pendingChange(memory: TerminalState, changes: PendingMembers): PendingChange {
  const isNew = (name: keyof PendingMembers) => name in changes && changes[name] !== memory[name];
  return Object.fromEntries(
    pendingNames.filter(isNew).map((name) => [name, changes[name] ?? null]),
  );
}

function changeLine(
  memory: TerminalState,
  services: Services,
  changes: Partial<TerminalState>,
): Line | undefined {
  const { dialogue, books, accounts, pending, operation, answerDue, batch, ...plain } = changes;
  const logged = dialogue?.loggedIn;
  return withoutUndefined({
    set: changedMembers<PlainMembers>(memory, plain),
    books: changedMembers(memory.books, books),
    accounts: changedMembers(memory.accounts, accounts),
    ...pendingChange(memory, changes),
    dialogue:
      dialogue &&
      withoutUndefined({
        ...dialogueChange(services, dialogue),
        loggedIn: isSame(logged, memory.dialogue?.loggedIn) ? undefined : logged,
      }),
  }) as Line | undefined;
}

/** Puts together what the lines of a file tell, one after the other. */
function replay(lines: readonly Line[]): { memory: TerminalState; services: Services } {
  let memory: TerminalState = emptyState;
  let { loggedIn } = emptyState.dialogue;
  const services: Services = new Map();
  for (const { set, books, accounts, dialogue, ...line } of lines) {
    const open = { ...memory, ...line };
    memory = {
      ...memory,
      ...set,
      pending: open.pending ?? undefined,
      operation: open.operation ?? undefined,
      answerDue: open.answerDue ?? undefined,
      batch: open.batch ?? undefined,
      books: { ...memory.books, ...books },
      accounts: { ...memory.accounts, ...accounts },
    };
    if (dialogue === undefined) continue;
    applyTo(services, dialogue);
    loggedIn = dialogue.loggedIn ?? loggedIn;
  }
  return {
    memory: { ...memory, dialogue: { services: [...services.values()], loggedIn } },
    services,
  };
}

/** The service of which something may be done that has no answer yet. */
export function findInterruptedService(
  memory: TerminalState,
): Pick<PendingAnswer, 'header'> | undefined {
  return memory.pending ?? memory.operation ?? memory.answerDue ?? memory.batch;
}

/** Its end, which belongs into the line that keeps its answer. */
export const nothingPending = {
  pending: undefined,
  operation: undefined,
  answerDue: undefined,
  batch: undefined,
};

/**
 * Opens the memory of a terminal; one terminal each. A killed terminal finds all that was kept, and at
 * most the beginning of what was not.
 *
 * @throws Error where it cannot be read or written
 */
export function openTerminalStore(directory: string): TerminalStore {
  mkdirSync(directory, { recursive: true, mode: ownerOnlyDirectory });
  const journal = openJsonLinesJournal(join(directory, fileName));
  const { services, ...kept } = replay(journal.lines as readonly Line[]);
  let { memory } = kept;
  return {
    read: () => memory,
    update(changes) {
      const next = { ...memory, ...changes };
      const line = changeLine(memory, services, changes);
      if (line !== undefined) {
        journal.append(line, () => changeLine(emptyState, new Map(), next) ?? {});
        applyTo(services, line.dialogue ?? {});
      }
      memory = next;
      return memory;
    },
  };
}
