/**
 * The terminal state that survives a reload. Each change is stored before a message is sent. It
 * contains no card number.
 */
import type { Header, PoiMemory, ServiceRecord, Structure } from '@switchyard/nexo';

/** A request to the platform without a response to the point of sale. */
export type PendingSale = {
  readonly kind: 'Sale';
  readonly header: Header;
  readonly saleData: Structure<'SaleData'>;
  readonly clientTransactionId: string;
  /** The expiry of the request, in epoch milliseconds. */
  readonly until: number;
  /** The cardholder has not signed yet. */
  readonly isSignatureDue: boolean;
};
export type PendingReversal = {
  readonly kind: 'Reversal';
  readonly header: Header;
  readonly original: Structure<'OriginalPOITransaction'>;
  readonly transactionId: string;
  readonly verb: 'refund' | 'cancel';
  /** The request body with its operation identifier; a repetition is the same operation. */
  readonly body: Readonly<Record<string, unknown>>;
};
export type PendingService = PendingSale | PendingReversal;

/** A sale that must be reversed when the platform is available. */
export type UnsentReversal = {
  readonly clientTransactionId: string;
  readonly reason: 'Timeout' | 'CustomerCancel';
  readonly until: number;
};

export type TerminalState = {
  readonly dialogue: PoiMemory;
  /** The transaction counter. */
  readonly transactions: number;
  readonly pending?: PendingService | undefined;
  readonly owed: readonly UnsentReversal[];
};

export type TerminalStorage = {
  read(): TerminalState;
  /** @throws if the browser storage is full; then nothing was done */
  save(changes: Partial<TerminalState>): void;
};

export type KeyValueStorage = Pick<Storage, 'getItem' | 'setItem'>;

const servicesMost = 300;
const answersMost = 20;
const fresh: TerminalState = {
  dialogue: { services: [], loggedIn: [] },
  transactions: 0,
  owed: [],
};

/** Limits the stored data: the latest services, and the responses of the latest of these. */
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

function readFrom(text: string | null): TerminalState {
  if (text === null) return fresh;
  try {
    return { ...fresh, ...(JSON.parse(text) as Partial<TerminalState>) };
  } catch {
    // The stored text is not valid JSON, so it is ignored.
    return fresh;
  }
}

/** @example const storage = openTerminalStorage(localStorage, tsn); storage.save({ transactions: 1 }); */
export function openTerminalStorage(shelf: KeyValueStorage, tsn: string): TerminalStorage {
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
