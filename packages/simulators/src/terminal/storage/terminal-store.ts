// The state that the terminal keeps across restarts. Each change is written before the terminal answers.
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

/** A sale that was sent to the platform; the till has no answer yet. */
export type PendingSale = {
  readonly header: Header;
  readonly saleData: Structure<'SaleData'>;
  readonly kind: 'Sale' | 'Reservation';
  readonly clientTransactionId: string;
  readonly amount: number;
  readonly currency: string;
  /** The platform accepts the sale until this time, epoch milliseconds. */
  readonly until: number;
  /** The merchant of the terminal at that time. */
  readonly merchant?: string | undefined;
  /** The totals include it. */
  readonly isBooked?: true;
  /** The sale is being reversed, regardless of its outcome: the failure that the till gets. */
  readonly givenBack?: { readonly condition: OpenValue<'ErrorCondition'>; readonly why: string };
};

/** An operation on an original that was sent to the platform; the till has no answer yet. */
export type PendingOperation = {
  readonly header: Header;
  readonly id: string;
  readonly verb: 'capture' | 'refund' | 'cancel';
  /** Contains the identifier of the operation: sent again, it is the same operation. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Request data that the answer repeats. */
  readonly saleData?: Structure<'SaleData'> | undefined;
  readonly type?: string | undefined;
  readonly isBooked?: true;
};

/**
 * The answer to an action of the terminal alone. One line contains action and answer, so that a restart finds both
 * or none.
 */
export type PendingAnswer = { readonly header: Header; readonly body: AnyMessage['body'] };

/** The progress of a batch. Its current request is a pending sale or operation with the same header. */
export type BatchProgress = {
  readonly header: Header;
  /** Number of requested transactions. */
  readonly wanted: number;
  readonly performed: readonly Structure<'PerformedTransaction'>[];
};

/** The terminal retries a rejected item ever more slowly, and reports each reason once. */
type Retryable = {
  /** Code of the last rejection. */
  readonly refused?: string;
  readonly refusals?: number;
  /** Time of the next attempt, epoch milliseconds. */
  readonly againAt?: number;
};

/** A sale to reverse: it stays until the platform confirms that nothing is left to reverse. */
export type PendingReversal = Retryable & {
  readonly clientTransactionId: string;
  readonly reason: 'Timeout' | 'CardRemoved' | 'ChipDeclined' | 'CustomerCancel';
  readonly until: number;
  /** The merchant that sold it. */
  readonly merchant?: string | undefined;
  /** Number of failed refunds; the next refund has another identifier. */
  readonly spent?: number;
};

/** A sale that the chip approved: uploaded when the platform is reachable. Its card data is encrypted. */
export type OfflineSale = Retryable & {
  readonly body: Readonly<Record<string, unknown>>;
  /** The merchant that sold it, where known. */
  readonly merchant?: string | undefined;
};

export type TerminalState = {
  readonly dialogue?: PoiMemory;
  /** Counters of transactions, keys and offline sales; they only grow. */
  readonly transactions: number;
  readonly keys: number;
  readonly offlineSales: number;
  /** The merchant of the terminal at the last lookup. */
  readonly merchant?: string | undefined;
  readonly pending?: PendingSale | undefined;
  readonly operation?: PendingOperation | undefined;
  readonly answerDue?: PendingAnswer | undefined;
  readonly batch?: BatchProgress | undefined;
  readonly reversals: readonly PendingReversal[];
  readonly uploads: readonly OfflineSale[];
  readonly books: ReconciliationPeriods;
  readonly accounts: AccountBalances;
};

export type TerminalStore = {
  read(): TerminalState;
  /** Changes some members and writes the changes. */
  update(changes: Partial<TerminalState>): TerminalState;
};

/** Changes of services: changed ones, removed ones, and the logged-in sale systems. */
type DialogueChange = {
  readonly put?: readonly ServiceRecord[];
  readonly gone?: readonly string[];
  readonly loggedIn?: readonly string[];
};
/** Members for work that may have an effect and has no answer yet. */
const pendingNames = ['pending', 'operation', 'answerDue', 'batch'] as const;
type PendingMembers = Pick<TerminalState, (typeof pendingNames)[number]>;
type PlainMembers = Omit<TerminalState, keyof PendingMembers | 'dialogue' | 'books' | 'accounts'>;
/** Null where the work has ended. */
type PendingChange = { readonly [Name in keyof PendingMembers]?: PendingMembers[Name] | null };
/** A change; unchanged members are left out. */
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

/** The members that are not undefined; undefined where there is none. */
function withoutUndefined<Of extends object>(members: Of): Of | undefined {
  const definedMembers = Object.entries(members).filter(([, value]) => value !== undefined);
  return definedMembers.length === 0 ? undefined : (Object.fromEntries(definedMembers) as Of);
}

/** The members with a new value. */
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

/** Records are immutable, so another object is a new record. */
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
    // Removed and used again: the record becomes the newest.
    if (services.get(key)?.at !== record.at) services.delete(key);
    services.set(key, record);
  }
}

/** Work that began or ended with this change. */
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

/** Applies the lines of a file in order. */
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

/** The service that may have had an effect and has no answer yet. */
export function findInterruptedService(
  memory: TerminalState,
): Pick<PendingAnswer, 'header'> | undefined {
  return memory.pending ?? memory.operation ?? memory.answerDue ?? memory.batch;
}

/** Ends the pending work; written in the same line as its answer. */
export const nothingPending = {
  pending: undefined,
  operation: undefined,
  answerDue: undefined,
  batch: undefined,
};

/**
 * Opens the store of a terminal, for one terminal only. After a kill it has all completed updates; an incomplete
 * last line is ignored.
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
