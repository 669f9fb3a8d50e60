// The reference clearing format: text lines with `|` separators, and a trailer with counts and a hash.
import { createHash } from 'node:crypto';
import { numericOf } from '@switchyard/money';
import {
  AcknowledgementFault,
  type ClearingAcknowledgement,
  type ClearingFormat,
  type ClearingHeader,
  type ClearingLine,
  type ClearingReference,
} from './clearing-format.ts';

const kindOfFile = 'SWITCHYARD-CLEARING';
const kindOfAnswer = 'SWITCHYARD-CLEARING-ACK';
const version = '1';
const hashModulus = 10n ** 16n;
const rejectionsMax = 100_000;
/** Control characters are invalid in lines; PostgreSQL cannot store NUL. */
const controlCharacter = /\p{Cc}/u;

const record = (...fields: readonly (string | number)[]) => `${fields.join('|')}\n`;
const sequenceOf = ({ sequence }: ClearingHeader) => String(sequence).padStart(6, '0');

function referenceFields({ mti, terminalId, stan, transmittedAt, rrn }: ClearingReference) {
  return [mti, terminalId, stan, transmittedAt, rrn];
}

function lineRecord(line: ClearingLine, number: number): string {
  return record(
    'C',
    number,
    line.settlementDate,
    line.merchantNumber,
    line.amount,
    numericOf(line.currency),
    line.final ? 'F' : 'P',
    ...referenceFields(line.reference),
    ...referenceFields(line.original),
    line.authorizationCode,
    line.maskedNumber,
  );
}

/** Computes the trailer: line count, amount per currency, hash total of the RRNs. */
function createTotals() {
  const amounts = new Map<string, bigint>();
  let count = 0;
  let hash = 0n;
  return {
    add(line: ClearingLine): number {
      const currency = numericOf(line.currency);
      amounts.set(currency, (amounts.get(currency) ?? 0n) + BigInt(line.amount));
      hash = (hash + BigInt(line.reference.rrn.replace(/\D/g, '') || 0)) % hashModulus;
      count += 1;
      return count;
    },
    fields(): (string | number)[] {
      const told = [...amounts].sort(([a], [b]) => (a < b ? -1 : 1));
      return [count, told.map(([currency, sum]) => `${currency}:${sum}`).join(','), String(hash)];
    },
  };
}

async function* write(
  header: ClearingHeader,
  pages: AsyncIterable<readonly ClearingLine[]>,
): AsyncIterable<string> {
  const digest = createHash('sha256');
  const totals = createTotals();
  const { institutionId, linkId, fileId, createdAt } = header;
  const opening = record(
    'H',
    kindOfFile,
    version,
    institutionId,
    linkId,
    sequenceOf(header),
    fileId,
    createdAt,
  );
  digest.update(opening);
  yield opening;
  for await (const page of pages) {
    const text = page.map((line) => lineRecord(line, totals.add(line))).join('');
    digest.update(text);
    yield text;
  }
  yield record('T', ...totals.fields(), digest.digest('hex'));
}

const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function whole(text: string | undefined, line: number, what: string): number {
  if (text !== undefined && /^[0-9]{1,9}$/.test(text)) return Number(text);
  throw new AcknowledgementFault(line, `${what} is not a number of 1 to 9 digits.`);
}

function readOpening(
  text: string,
): Pick<ClearingAcknowledgement, 'fileId' | 'sequence' | 'refused'> {
  const [mark, kind, told, sequence, fileId = '', outcome, reason] = text.split('|');
  if (mark !== 'A' || kind !== kindOfAnswer || told !== version || !uuidForm.test(fileId)) {
    throw new AcknowledgementFault(
      1,
      `The first line must begin with A|${kindOfAnswer}|${version}|.`,
    );
  }
  if (outcome !== 'Accepted' && outcome !== 'Rejected') {
    throw new AcknowledgementFault(1, 'The status in the first line must be Accepted or Rejected.');
  }
  const known = { fileId, sequence: whole(sequence, 1, 'The sequence') };
  if (outcome === 'Accepted') return known;
  return { ...known, refused: (reason ?? '').slice(0, 100) || 'Unknown' };
}

function readRejection(text: string, at: number) {
  const [mark, line, rrn = '', code = '', ...more] = text.split('|');
  if (mark !== 'R' || more.length > 0 || !/^[A-Za-z0-9]{1,8}$/.test(code)) {
    throw new AcknowledgementFault(at, 'The line must have the form R|line|reference|code.');
  }
  return { line: whole(line, at, 'The line'), rrn, code };
}

function readAcknowledgement(text: string): ClearingAcknowledgement {
  const lines = text.replace(/\r\n/g, '\n').replace(/\n$/, '').split('\n');
  if (lines.length > rejectionsMax)
    throw new AcknowledgementFault(rejectionsMax, 'The acknowledgement has too many lines.');
  const odd = lines.findIndex((line) => controlCharacter.test(line));
  if (odd !== -1) throw new AcknowledgementFault(odd + 1, 'The line contains a control character.');
  const opening = readOpening(lines[0] ?? '');
  const [mark, accepted, rejected, ...more] = (lines.at(-1) ?? '').split('|');
  if (mark !== 'T' || more.length > 0 || lines.length < 2) {
    throw new AcknowledgementFault(
      lines.length,
      'The last line must have the form T|accepted|rejected.',
    );
  }
  const rejections = lines.slice(1, -1).map((line, index) => readRejection(line, index + 2));
  if (new Set(rejections.map(({ line }) => line)).size !== rejections.length) {
    throw new AcknowledgementFault(lines.length, 'The acknowledgement rejects a line twice.');
  }
  if (whole(rejected, lines.length, 'The number of rejected lines') !== rejections.length) {
    throw new AcknowledgementFault(
      lines.length,
      'The rejected count differs from the number of R lines.',
    );
  }
  const count = whole(accepted, lines.length, 'The number of accepted lines');
  return { ...opening, accepted: count, rejections };
}

export const referenceClearing: ClearingFormat = {
  nameOf: (header) => `clearing-${header.institutionId}-${sequenceOf(header)}.txt`,
  write,
  readAcknowledgement,
};
