// Processes clearing files: checks that a file is complete and in sequence, captures its lines, acknowledges it.
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FinancialRequest } from '../decisions/read-financial-request.ts';

const HEADER = 'SWITCHYARD-CLEARING';
const ACKNOWLEDGEMENT = 'SWITCHYARD-CLEARING-ACK';
const VERSION = '1';
const HASH_MODULUS = 10n ** 16n;
const FIELDS_OF_LINE = 19;
const OWNER_ONLY = 0o600;
const APPROVED = '00';

/** `sender` is an institution and its link: each counts its own files. */
type Header = { sender: string; sequence: number; previous: number; fileId: string };
type Line = { number: string; rrn: string; currency: string; request: FinancialRequest };
/** The processed files of each sender: hash of the content by sequence number. */
type ProcessedFiles = Record<string, Record<number, string>>;

const parseInteger = (text: string | undefined) =>
  text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;

function readHeader(text: string): Header {
  const [recordType, kind, version, institution, link, sequence, fileId = '', , before] =
    text.split('|');
  const number = parseInteger(sequence);
  const previous = parseInteger(before);
  const isNumbered = number > 0 && previous < number;
  if (recordType !== 'H' || kind !== HEADER || version !== VERSION || !isNumbered) {
    throw new Error(`not a clearing file: it begins with H|${HEADER}|${VERSION}|`);
  }
  return { sender: `${institution}|${link}`, sequence: number, previous, fileId };
}

/** A line contains the numbers of its own message and of the authorisation. */
function readLine(text: string): Line | undefined {
  const fields = text.split('|');
  if (fields.length !== FIELDS_OF_LINE || fields[0] !== 'C') return undefined;
  const [, number = '', , merchant = '', amount, currency = '', last] = fields;
  const [, terminal = '', stan, sent, rrn = ''] = fields.slice(7, 12);
  const [mti = '', originalTerminal, originalStan, originalSent, originalRrn = ''] = fields.slice(
    12,
    17,
  );
  const minor = parseInteger(amount);
  if (!Number.isSafeInteger(minor) || (last !== 'F' && last !== 'P')) return undefined;
  const request: FinancialRequest = {
    kind: 'capture',
    key: `022.${merchant}.${terminal}.${stan}.${sent}`,
    repeat: false,
    terminal,
    merchant,
    currency,
    amount: minor,
    rrn: originalRrn,
    pan: '',
    originalKeys: [
      `${mti.slice(0, 3)}.${merchant}.${originalTerminal}.${originalStan}.${originalSent}`,
    ],
    final: last === 'F',
    remaining: undefined,
  };
  return { number, rrn, currency, request };
}

function totalsOf(lines: readonly Line[]): string[] {
  const amounts = new Map<string, bigint>();
  let hash = 0n;
  for (const { currency, rrn, request } of lines) {
    amounts.set(currency, (amounts.get(currency) ?? 0n) + BigInt(request.amount));
    hash = (hash + BigInt(rrn.replace(/\D/g, '') || 0)) % HASH_MODULUS;
  }
  const sortedAmounts = [...amounts].sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    String(lines.length),
    sortedAmounts.map(([currency, sum]) => `${currency}:${sum}`).join(','),
    String(hash),
  ];
}

/** The lines of a file, or the reason why it is rejected. */
function readLines(body: readonly string[], trailer: string, digest: string): Line[] | string {
  const lines = body.map(readLine);
  if (lines.some((line, index) => line?.number !== String(index + 1))) return 'FORMAT';
  const [recordType, count, amounts, hash, trailerDigest] = trailer.split('|');
  const validLines = lines as Line[];
  const [ownCount, ownAmounts, ownHash] = totalsOf(validLines);
  if (recordType !== 'T') return 'FORMAT';
  if (count !== ownCount) return 'COUNT';
  if (amounts !== ownAmounts) return 'AMOUNT';
  return hash !== ownHash || trailerDigest !== digest ? 'HASH' : validLines;
}

function isMissingFile(error: unknown): boolean {
  return (error as { code?: string }).code === 'ENOENT';
}

/** Keeps the list of processed files across restarts. */
function openProcessedFiles(path: string) {
  let processed: ProcessedFiles = {};
  try {
    processed = JSON.parse(readFileSync(path, 'utf8')) as ProcessedFiles;
  } catch (error) {
    if (!isMissingFile(error)) throw error;
  }
  return {
    filesOf: (sender: string) => processed[sender] ?? {},
    add({ sender, sequence }: Header, digest: string): void {
      processed[sender] = { ...processed[sender], [sequence]: digest };
      writeFileSync(`${path}.new`, JSON.stringify(processed), { mode: OWNER_ONLY });
      renameSync(`${path}.new`, path);
    },
  };
}

export type ClearingProcessor = {
  /** @throws Error for a text that is not a clearing file; a damaged file gets a negative acknowledgement */
  process(text: string): string;
};

export function createClearingProcessor(deps: {
  directory: string;
  capture(request: FinancialRequest): string;
  flush(): void;
}): ClearingProcessor {
  const processedFiles = openProcessedFiles(join(deps.directory, 'clearing.json'));

  function sequenceFault(
    { sender, sequence, previous }: Header,
    digest: string,
  ): string | undefined {
    const files = processedFiles.filesOf(sender);
    const earlierDigest = files[sequence];
    // A repeated file gets the same acknowledgement; a different file with its number is rejected.
    if (earlierDigest !== undefined) return earlierDigest === digest ? undefined : 'DUPLICATE';
    return previous > 0 && files[previous] === undefined ? 'SEQUENCE' : undefined;
  }

  function acknowledgementHeader({ sequence, fileId }: Header, ...outcome: string[]): string {
    return `${['A', ACKNOWLEDGEMENT, VERSION, String(sequence).padStart(6, '0'), fileId, ...outcome].join('|')}\n`;
  }

  return {
    process(text) {
      const records = text.replace(/\n$/, '').split('\n');
      const header = readHeader(records[0] ?? '');
      const trailer = records.at(-1) ?? '';
      const digestedText = text.slice(0, text.lastIndexOf(trailer));
      const digest = createHash('sha256').update(digestedText).digest('hex');
      const lines = readLines(records.slice(1, -1), trailer, digest);
      const fault = typeof lines === 'string' ? lines : sequenceFault(header, digest);
      if (fault !== undefined || typeof lines === 'string') {
        return `${acknowledgementHeader(header, 'Rejected', String(fault))}T|0|0\n`;
      }
      const { sender, sequence } = header;
      const repeat = processedFiles.filesOf(sender)[sequence] !== undefined;
      const answers = lines.map((line) => ({
        ...line,
        code: deps.capture({ ...line.request, repeat }),
      }));
      // The captures are written before the file is marked as processed: a repeated file captures nothing twice.
      deps.flush();
      if (!repeat) processedFiles.add(header, digest);
      const rejected = answers.filter(({ code }) => code !== APPROVED);
      const rejections = rejected.map(({ number, rrn, code }) => `R|${number}|${rrn}|${code}\n`);
      const counts = `T|${answers.length - rejected.length}|${rejected.length}\n`;
      return acknowledgementHeader(header, 'Accepted') + rejections.join('') + counts;
    },
  };
}
