// The ledger of the running host: kept in memory, and written to files before the host answers.
import { closeSync, mkdirSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { isApprovalCode } from '../decisions/test-amounts-and-cards.ts';
import {
  createRecentEntries,
  createTotals,
  type LedgerEntry,
  type LedgerTotals,
  type OriginalReference,
  type OriginalTransaction,
  type RecordedAnswer,
  totalsKey,
} from './ledger-entries.ts';
import {
  findLastEntry,
  listSegments,
  readSegment,
  removeTornLine,
  type SegmentOpening,
  segmentPath,
} from './ledger-files.ts';

/** The ledger at one moment. Totals cover all entries; originals are the recent ones. */
export type LedgerSnapshot = {
  /** By merchant and currency, sorted. */
  totals: LedgerTotals[];
  /** The originals in memory, oldest first. */
  originals: OriginalTransaction[];
  /** Whether `originals` holds all originals; otherwise the older ones are only on disk. */
  complete: boolean;
  /** How many entries were ever written. */
  entries: number;
};

export type Ledger = {
  /** The recorded answer to a message; `thorough` searches the files as well. */
  findAnswer(key: string, thorough: boolean): RecordedAnswer | undefined;
  /**
   * The original of the first key that matches; without keys, the recent original of a reference.
   */
  findOriginal(
    keys: readonly string[],
    reference: OriginalReference,
  ): OriginalTransaction | undefined;
  /** Whether the ledger accepts entries of a merchant and currency; their number is limited. */
  canRecord(account: { merchant: string; currency: string }): boolean;
  /** Adds an entry. It survives the end of this process after `flush`. */
  record(entry: LedgerEntry): void;
  /** Writes the recorded entries to the file; throws where it cannot. */
  flush(): void;
  /** Six characters, another one for each entry. */
  nextApproval(): string;
  /** A retrieval reference number of this length, different for each entry. */
  nextRetrievalReference(length: number): string;
  snapshot(): LedgerSnapshot;
  close(): void;
};

/** Entries per segment; the memory holds those of at most two segments. */
const entriesPerSegment = 10_000;

/** Merchants, by currency, that the host adds up. */
const merchantsMax = 10_000;

const OWNER_ONLY = 0o600;
const OWNER_ONLY_DIRECTORY = 0o700;
const APPROVAL_CHARACTERS = 6;

/** Whether the host assigned a retrieval reference number: those of the platform are digits. */
export const isAssignedReference = (rrn: string): boolean => rrn.startsWith('H');

/**
 * Opens the ledger of a directory and replays it.
 *
 * @param options `directory`, made where missing; `segmentEntries` for tests
 * @throws Error when a line cannot be read or the directory not be written
 */
export function openLedger(options: { directory: string; segmentEntries?: number }): Ledger {
  const { directory, segmentEntries = entriesPerSegment } = options;
  const sums = createTotals(isApprovalCode);
  const recent = createRecentEntries();
  let entries = 0;
  let entriesInSegment = 0;
  let segment = 0;
  let descriptor = -1;
  let pending = '';
  let unwritten: Buffer = Buffer.alloc(0);

  /** Bytes that a full disk did not accept are written again with the next entries. */
  function drain(): void {
    while (unwritten.length > 0) unwritten = unwritten.subarray(writeSync(descriptor, unwritten));
  }

  function startSegment(): void {
    const next = openSync(segmentPath(directory, segment + 1), 'a', OWNER_ONLY);
    if (descriptor !== -1) closeSync(descriptor);
    descriptor = next;
    segment++;
    entriesInSegment = 0;
    const opening: SegmentOpening = { segment, entries, totals: sums.rows() };
    unwritten = Buffer.from(`${JSON.stringify(opening)}\n`);
    drain();
  }

  function flush(): void {
    if (pending !== '') unwritten = Buffer.concat([unwritten, Buffer.from(pending)]);
    pending = '';
    if (unwritten.length === 0) return;
    drain();
    if (entriesInSegment < segmentEntries) return;
    recent.rotate();
    startSegment();
  }

  /** The newest segment with an opening line; a killed process may leave a segment without it. */
  function newestSegment(): number | undefined {
    const last = listSegments(directory).at(-1);
    if (last === undefined) return undefined;
    const path = segmentPath(directory, last);
    if (removeTornLine(path) > 0) return last;
    unlinkSync(path);
    return newestSegment();
  }

  function entriesOf(number: number): LedgerEntry[] {
    if (!listSegments(directory).includes(number)) return [];
    return readSegment(segmentPath(directory, number))?.entries ?? [];
  }

  function replay(): void {
    mkdirSync(directory, { recursive: true, mode: OWNER_ONLY_DIRECTORY });
    const last = newestSegment();
    if (last === undefined) {
      startSegment();
      return;
    }
    for (const entry of entriesOf(last - 1)) recent.add(entry);
    recent.rotate();
    const path = segmentPath(directory, last);
    const read = readSegment(path);
    if (read === undefined) throw new Error(`${path}: the opening line is missing`);
    sums.load(read.opening.totals);
    for (const entry of read.entries) {
      sums.add(entry);
      recent.add(entry);
    }
    segment = last;
    entriesInSegment = read.entries.length;
    entries = read.opening.entries + entriesInSegment;
    descriptor = openSync(path, 'a', OWNER_ONLY);
  }

  /** Searches the older files for an entry that contains a text. */
  function findOnDisk(text: string): LedgerEntry | undefined {
    return segment > 2 ? findLastEntry(directory, segment - 1, text) : undefined;
  }

  replay();

  return {
    findAnswer(key, thorough) {
      const recentAnswer = recent.answered(key);
      if (recentAnswer !== undefined || !thorough) return recentAnswer;
      return findOnDisk(`,"key":${JSON.stringify(key)},`);
    },
    findOriginal(keys, reference) {
      if (keys.length === 0) return recent.originalOf(reference);
      for (const key of keys) {
        const recentOriginal = recent.original(key);
        if (recentOriginal !== undefined) return recentOriginal;
      }
      for (const key of keys) {
        const storedEntry = findOnDisk(`"original":{"key":${JSON.stringify(key)},`);
        if (storedEntry !== undefined) return storedEntry.original;
      }
      return undefined;
    },
    canRecord: (account) => sums.size() < merchantsMax || sums.has(totalsKey(account)),
    record(entry) {
      sums.add(entry);
      recent.add(entry);
      entries++;
      entriesInSegment++;
      pending += `${JSON.stringify(entry)}\n`;
    },
    flush,
    nextApproval() {
      const digits = (entries + 1).toString(36).toUpperCase();
      return digits.padStart(APPROVAL_CHARACTERS, '0').slice(-APPROVAL_CHARACTERS);
    },
    nextRetrievalReference: (length) => `H${String(entries + 1).padStart(length - 1, '0')}`,
    snapshot: () => ({
      totals: sums.rows(),
      originals: [...recent.originals()],
      complete: segment <= 2,
      entries,
    }),
    close() {
      if (descriptor === -1) return;
      flush();
      closeSync(descriptor);
      descriptor = -1;
    },
  };
}
