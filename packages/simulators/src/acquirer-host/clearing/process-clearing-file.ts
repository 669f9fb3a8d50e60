// Takes clearing files: proves that one is whole and in its turn, captures by its lines, acknowledges it.
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FinancialRequest } from '../decisions/financial-request.ts';

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
/** The files taken of each sender: their content as a hash, by their number. */
type Taken = Record<string, Record<number, string>>;

const whole = (text: string | undefined) =>
  text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;

function readHeader(text: string): Header {
  const [mark, kind, version, institution, link, sequence, fileId = '', , before] = text.split('|');
  const number = whole(sequence);
  const previous = whole(before);
  const isNumbered = number > 0 && previous < number;
  if (mark !== 'H' || kind !== HEADER || version !== VERSION || !isNumbered) {
    throw new Error(`not a clearing file: it begins with H|${HEADER}|${VERSION}|`);
  }
  return { sender: `${institution}|${link}`, sequence: number, previous, fileId };
}

/** A line names its own message and the authorisation by the numbers that both went by. */
function readLine(text: string): Line | undefined {
  const fields = text.split('|');
  if (fields.length !== FIELDS_OF_LINE || fields[0] !== 'C') return undefined;
  const [, number = '', , merchant = '', amount, currency = '', last] = fields;
  const [, terminal = '', stan, sent, rrn = ''] = fields.slice(7, 12);
  const [mti = '', ofTerminal, ofStan, ofSent, ofRrn = ''] = fields.slice(12, 17);
  const minor = whole(amount);
  if (!Number.isSafeInteger(minor) || (last !== 'F' && last !== 'P')) return undefined;
  const request: FinancialRequest = {
    kind: 'capture',
    key: `022.${merchant}.${terminal}.${stan}.${sent}`,
    repeat: false,
    terminal,
    merchant,
    currency,
    amount: minor,
    rrn: ofRrn,
    pan: '',
    originalKeys: [`${mti.slice(0, 3)}.${merchant}.${ofTerminal}.${ofStan}.${ofSent}`],
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
  const told = [...amounts].sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    String(lines.length),
    told.map(([currency, sum]) => `${currency}:${sum}`).join(','),
    String(hash),
  ];
}

/** Why a file is not taken at all, or its lines. */
function readLines(body: readonly string[], trailer: string, digest: string): Line[] | string {
  const lines = body.map(readLine);
  if (lines.some((line, index) => line?.number !== String(index + 1))) return 'FORMAT';
  const [mark, count, amounts, hash, proof] = trailer.split('|');
  const known = lines as Line[];
  const [ownCount, ownAmounts, ownHash] = totalsOf(known);
  if (mark !== 'T') return 'FORMAT';
  if (count !== ownCount) return 'COUNT';
  if (amounts !== ownAmounts) return 'AMOUNT';
  return hash !== ownHash || proof !== digest ? 'HASH' : known;
}

function isOurs(error: unknown): boolean {
  return (error as { code?: string }).code === 'ENOENT';
}

/** Remembers which files were taken, over a restart. */
function openTaken(path: string) {
  let taken: Taken = {};
  try {
    taken = JSON.parse(readFileSync(path, 'utf8')) as Taken;
  } catch (error) {
    if (!isOurs(error)) throw error;
  }
  return {
    of: (sender: string) => taken[sender] ?? {},
    add({ sender, sequence }: Header, digest: string): void {
      taken[sender] = { ...taken[sender], [sequence]: digest };
      writeFileSync(`${path}.new`, JSON.stringify(taken), { mode: OWNER_ONLY });
      renameSync(`${path}.new`, path);
    },
  };
}

export type ClearingDesk = {
  /** @throws Error for what is no clearing file; one that is damaged is acknowledged so */
  take(text: string): string;
};

export function createClearingDesk(deps: {
  directory: string;
  capture(request: FinancialRequest): string;
  flush(): void;
}): ClearingDesk {
  const taken = openTaken(join(deps.directory, 'clearing.json'));

  function whyNotNow({ sender, sequence, previous }: Header, digest: string): string | undefined {
    const files = taken.of(sender);
    const known = files[sequence];
    // The same file again is answered as before; another one under its number is not taken.
    if (known !== undefined) return known === digest ? undefined : 'DUPLICATE';
    return previous > 0 && files[previous] === undefined ? 'SEQUENCE' : undefined;
  }

  function opening({ sequence, fileId }: Header, ...outcome: string[]): string {
    return `${['A', ACKNOWLEDGEMENT, VERSION, String(sequence).padStart(6, '0'), fileId, ...outcome].join('|')}\n`;
  }

  return {
    take(text) {
      const records = text.replace(/\n$/, '').split('\n');
      const header = readHeader(records[0] ?? '');
      const trailer = records.at(-1) ?? '';
      const proven = text.slice(0, text.lastIndexOf(trailer));
      const digest = createHash('sha256').update(proven).digest('hex');
      const lines = readLines(records.slice(1, -1), trailer, digest);
      const fault = typeof lines === 'string' ? lines : whyNotNow(header, digest);
      if (fault !== undefined || typeof lines === 'string') {
        return `${opening(header, 'Rejected', String(fault))}T|0|0\n`;
      }
      const { sender, sequence } = header;
      const repeat = taken.of(sender)[sequence] !== undefined;
      const answers = lines.map((line) => ({
        ...line,
        code: deps.capture({ ...line.request, repeat }),
      }));
      // The captures are durable before the file counts as taken: it may come again, they go once.
      deps.flush();
      if (!repeat) taken.add(header, digest);
      const rejected = answers.filter(({ code }) => code !== APPROVED);
      const told = rejected.map(({ number, rrn, code }) => `R|${number}|${rrn}|${code}\n`);
      const counts = `T|${answers.length - rejected.length}|${rejected.length}\n`;
      return opening(header, 'Accepted') + told.join('') + counts;
    },
  };
}
