/** What the terminal keeps over a reload of its page: each change before anything is told. No card number is in it. */
import type { Header, PoiMemory, ServiceRecord, Structure } from '@switchyard/nexo';

/** What was begun at the platform and has no answer to the till yet. */
export type PendingSale = {
  readonly kind: 'Sale';
  readonly header: Header;
  readonly saleData: Structure<'SaleData'>;
  readonly clientTransactionId: string;
  /** The platform takes it until then and no longer, epoch milliseconds. */
  readonly until: number;
  /** Its holder has not signed yet. */
  readonly isSignatureDue: boolean;
};
export type PendingReversal = {
  readonly kind: 'Reversal';
  readonly header: Header;
  readonly original: Structure<'OriginalPOITransaction'>;
  readonly transactionId: string;
  readonly verb: 'refund' | 'cancel';
  /** With an identifier of its own: asked again, it is the same operation. */
  readonly body: Readonly<Record<string, unknown>>;
};
export type Pending = PendingSale | PendingReversal;

/** A sale that nobody may pay for: taken back as soon as the platform can be reached. */
export type Owed = {
  readonly clientTransactionId: string;
  readonly reason: 'Timeout' | 'CustomerCancel';
  readonly until: number;
};

export type Memory = {
  readonly dialogue: PoiMemory;
  /** How many transactions there were. */
  readonly transactions: number;
  readonly pending?: Pending | undefined;
  readonly owed: readonly Owed[];
};

export type Keeper = {
  read(): Memory;
  /** @throws where the browser keeps nothing more: then nothing was done */
  save(changes: Partial<Memory>): void;
};

export type Shelf = Pick<Storage, 'getItem' | 'setItem'>;

const servicesMost = 300;
const answersMost = 20;
const fresh: Memory = { dialogue: { services: [], loggedIn: [] }, transactions: 0, owed: [] };

/** The browser has little room: the youngest services, and the answers of the youngest of these. */
function shortened({ services, loggedIn }: PoiMemory): PoiMemory {
  const latest = services.slice(-servicesMost);
  const answered = latest.filter(({ answer }) => answer !== undefined);
  const dropped = new Set<ServiceRecord>(answered.slice(0, -answersMost));
  return {
    loggedIn,
    services: latest.map((record) => {
      if (!dropped.has(record)) return record;
      const { answer: _answer, ...rest } = record;
      return { ...rest, dropped: true };
    }),
  };
}

function readFrom(text: string | null): Memory {
  if (text === null) return fresh;
  try {
    return { ...fresh, ...(JSON.parse(text) as Partial<Memory>) };
  } catch {
    // Somebody else wrote there: it is none of ours.
    return fresh;
  }
}

/** @example const keeper = openMemory(localStorage, tsn); keeper.keep({ transactions: 1 }); */
export function openMemory(shelf: Shelf, tsn: string): Keeper {
  const name = `switchyard-terminal ${tsn}`;
  let memory = readFrom(shelf.getItem(name));
  return {
    read: () => memory,
    save(changes) {
      const next = { ...memory, ...changes };
      const written = { ...next, dialogue: shortened(next.dialogue) };
      shelf.setItem(name, JSON.stringify(written));
      memory = written;
    },
  };
}
