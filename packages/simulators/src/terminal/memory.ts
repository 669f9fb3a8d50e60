// What the terminal keeps over a restart: plain data in one file, written whole before anything is told.
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Header, PoiMemory, Structure } from '@switchyard/nexo';
import { type Accounts, noAccounts } from './accounts.ts';
import { type Books, emptyBooks } from './books.ts';

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
};

/** A sale whose outcome is not known: it is reversed until the platform says that it was. */
export type Reversal = {
  readonly clientTransactionId: string;
  readonly reason: 'Timeout' | 'CardRemoved' | 'ChipDeclined';
  readonly until: number;
};

/** A sale that the chip approved: sent on when the platform can be reached. Its card data is encrypted. */
export type OfflineSale = { readonly body: Readonly<Record<string, unknown>> };

export type Memory = {
  readonly dialogue?: PoiMemory;
  /** Of transactions, of keys, of offline sales: each only grows. */
  readonly transactions: number;
  readonly keys: number;
  readonly offlineSales: number;
  readonly pending?: Pending | undefined;
  readonly reversals: readonly Reversal[];
  readonly uploads: readonly OfflineSale[];
  readonly books: Books;
  readonly accounts: Accounts;
};

export type Keeper = {
  read(): Memory;
  /** Changes some members and writes all of it down. */
  keep(changes: Partial<Memory>): Memory;
};

const fresh: Memory = {
  transactions: 0,
  keys: 0,
  offlineSales: 0,
  reversals: [],
  uploads: [],
  books: emptyBooks,
  accounts: noAccounts,
};
const ownerOnly = 0o600;
const ownerOnlyDirectory = 0o700;
const fileName = 'terminal.json';

function readFile(path: string): Memory {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return fresh;
    throw error;
  }
  return { ...fresh, ...(JSON.parse(text) as Memory) };
}

/**
 * Opens the memory of a terminal; one terminal each. Renamed into place, so that a killed terminal finds
 * the old file or the new one.
 *
 * @throws Error where it cannot be read or written
 */
export function openMemory(directory: string): Keeper {
  mkdirSync(directory, { recursive: true, mode: ownerOnlyDirectory });
  const path = join(directory, fileName);
  let memory = readFile(path);
  return {
    read: () => memory,
    keep(changes) {
      memory = { ...memory, ...changes };
      writeFileSync(`${path}.new`, JSON.stringify(memory), { mode: ownerOnly });
      renameSync(`${path}.new`, path);
      chmodSync(path, ownerOnly);
      return memory;
    },
  };
}
