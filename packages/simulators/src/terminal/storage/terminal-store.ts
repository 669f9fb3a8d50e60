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
import { type Accounts, noAccounts } from './gift-card-and-point-balances.ts';
import { openJournal } from './json-lines-journal.ts';
import { type Books, emptyBooks } from './reconciliation-totals.ts';

/** What was begun at the platform and has no answer to the till yet. */
export type Pending = {
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
export type AnswerDue = { readonly header: Header; readonly body: AnyMessage['body'] };

/** Several requests in one: what of it is done. What it is doing stands beside it, under the same header. */
export type PendingBatch = {
  readonly header: Header;
  /** So many were asked for. */
  readonly wanted: number;
  readonly performed: readonly Structure<'PerformedTransaction'>[];
};

/** What the platform refused stays: it is asked again, ever more slowly, and told once for each reason. */
type Refusable = {
  /** Why it was refused last. */
  readonly refused?: string;
  readonly refusals?: number;
  /** It is not asked again before, epoch milliseconds. */
  readonly againAt?: number;
};

/** A sale that is taken back: it is owed until the platform says that nothing is left to give back. */
export type Reversal = Refusable & {
  readonly clientTransactionId: string;
  readonly reason: 'Timeout' | 'CardRemoved' | 'ChipDeclined' | 'CustomerCancel';
  readonly until: number;
  /** Whose terminal sold it. */
  readonly merchant?: string | undefined;
  /** So many refunds of it have failed for good: the next has another identifier. */
  readonly spent?: number;
};

/** A sale that the chip approved: sent on when the platform can be reached. Its card data is encrypted. */
export type OfflineSale = Refusable & {
  readonly body: Readonly<Record<string, unknown>>;
  /** Whose terminal sold it, where that was known. */
  readonly merchant?: string | undefined;
};

export type Memory = {
  readonly dialogue?: PoiMemory;
  /** Of transactions, of keys, of offline sales: each only grows. */
  readonly transactions: number;
  readonly keys: number;
  readonly offlineSales: number;
  /** Whose terminal it was when that was asked last. */
  readonly merchant?: string | undefined;
  readonly pending?: Pending | undefined;
  readonly operation?: PendingOperation | undefined;
  readonly answerDue?: AnswerDue | undefined;
  readonly batch?: PendingBatch | undefined;
  readonly reversals: readonly Reversal[];
  readonly uploads: readonly OfflineSale[];
  readonly books: Books;
  readonly accounts: Accounts;
};

export type Keeper = {
  read(): Memory;
  /** Changes some members, and writes down what of them is new. */
  keep(changes: Partial<Memory>): Memory;
};

/** What is new of the services: those that changed, those that were forgotten, who is logged in. */
type DialogueChange = {
  readonly put?: readonly ServiceRecord[];
  readonly gone?: readonly string[];
  readonly loggedIn?: readonly string[];
};
/** What may be done and has no answer yet. */
const openNames = ['pending', 'operation', 'answerDue', 'batch'] as const;
type Open = Pick<Memory, (typeof openNames)[number]>;
type Plain = Omit<Memory, keyof Open | 'dialogue' | 'books' | 'accounts'>;
/** Null where it is over. */
type OpenChange = { readonly [Name in keyof Open]?: Open[Name] | null };
/** A change; members that are as they were are left out. */
type Line = OpenChange & {
  readonly set?: Partial<Plain>;
  readonly books?: Partial<Books>;
  readonly accounts?: Partial<Accounts>;
  readonly dialogue?: DialogueChange;
};

const fresh: Memory & { readonly dialogue: PoiMemory } = {
  dialogue: { services: [], loggedIn: [] },
  transactions: 0,
  keys: 0,
  offlineSales: 0,
  reversals: [],
  uploads: [],
  books: emptyBooks,
  accounts: noAccounts,
};
const ownerOnlyDirectory = 0o700;
const fileName = 'terminal.jsonl';

const keyOf = ({ saleId, serviceId }: ServiceRecord): string => `${saleId}\n${serviceId}`;
const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

type Services = Map<string, ServiceRecord>;

/** Without the members that tell nothing; undefined where none is left. */
function held<Of extends object>(members: Of): Of | undefined {
  const told = Object.entries(members).filter(([, value]) => value !== undefined);
  return told.length === 0 ? undefined : (Object.fromEntries(told) as Of);
}

/** The members that are another value than before. */
function newOf<Of extends object>(before: Of, after: Partial<Of> = {}): Partial<Of> | undefined {
  const names = Object.keys(after) as (keyof Of)[];
  const changed = names.filter((name) => before[name] !== after[name]);
  return held(Object.fromEntries(changed.map((name) => [name, after[name]])) as Partial<Of>);
}

/** Records never change: one that is another object is new. */
function changeOf(before: Services, { services }: PoiMemory): Pick<DialogueChange, 'put' | 'gone'> {
  const put = services.filter((record) => before.get(keyOf(record)) !== record);
  const added = put.filter((record) => !before.has(keyOf(record))).length;
  const more = put.length === 0 ? {} : { put };
  if (before.size + added === services.length) return more;
  const left = new Set(services.map(keyOf));
  return { ...more, gone: [...before.keys()].filter((key) => !left.has(key)) };
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
function openOf(memory: Memory, changes: Open): OpenChange {
  const isNew = (name: keyof Open) => name in changes && changes[name] !== memory[name];
  return Object.fromEntries(openNames.filter(isNew).map((name) => [name, changes[name] ?? null]));
}

function lineOf(memory: Memory, services: Services, changes: Partial<Memory>): Line | undefined {
  const { dialogue, books, accounts, pending, operation, answerDue, batch, ...plain } = changes;
  const logged = dialogue?.loggedIn;
  return held({
    set: newOf<Plain>(memory, plain),
    books: newOf(memory.books, books),
    accounts: newOf(memory.accounts, accounts),
    ...openOf(memory, changes),
    dialogue:
      dialogue &&
      held({
        ...changeOf(services, dialogue),
        loggedIn: isSame(logged, memory.dialogue?.loggedIn) ? undefined : logged,
      }),
  }) as Line | undefined;
}

/** Puts together what the lines of a file tell, one after the other. */
function replay(lines: readonly Line[]): { memory: Memory; services: Services } {
  let memory: Memory = fresh;
  let { loggedIn } = fresh.dialogue;
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
export function begunIn(memory: Memory): Pick<AnswerDue, 'header'> | undefined {
  return memory.pending ?? memory.operation ?? memory.answerDue ?? memory.batch;
}

/** Its end, which belongs into the line that keeps its answer. */
export const nothingBegun = {
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
export function openMemory(directory: string): Keeper {
  mkdirSync(directory, { recursive: true, mode: ownerOnlyDirectory });
  const journal = openJournal(join(directory, fileName));
  const { services, ...kept } = replay(journal.lines as readonly Line[]);
  let { memory } = kept;
  return {
    read: () => memory,
    keep(changes) {
      const next = { ...memory, ...changes };
      const line = lineOf(memory, services, changes);
      if (line !== undefined) {
        journal.append(line, () => lineOf(fresh, new Map(), next) ?? {});
        applyTo(services, line.dialogue ?? {});
      }
      memory = next;
      return memory;
    },
  };
}
