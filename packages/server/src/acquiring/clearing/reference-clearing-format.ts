// The reference clearing format: text lines with `|` separators, and a trailer with counts and a hash.
import { createHash } from 'node:crypto';
import { defined } from '@switchyard/contract';
import { numericOf } from '@switchyard/money';
import type { AcquirerReference } from '../spi/acquirer-spi.ts';

/** Identifies a message at the acquirer. */
type ClearingReference = Pick<
  AcquirerReference,
  'mti' | 'terminalId' | 'stan' | 'rrn' | 'transmittedAt'
>;

/** One capture, with masked card number. The acquirer finds the card by the authorisation. */
export type ClearingLine = {
  /** YYYY-MM-DD in the time zone of the store. */
  settlementDate: string;
  /** DE42. */
  merchantNumber: string;
  /** Minor units. */
  amount: number;
  /** ISO 4217. */
  currency: string;
  /** Final capture: the acquirer releases the remaining authorisation. */
  final: boolean;
  reference: ClearingReference;
  original: ClearingReference;
  authorizationCode: string;
  maskedNumber: string;
};

type ClearingHeader = {
  fileId: string;
  linkId: string;
  /** DE32. */
  institutionId: string;
  /** Starts at 1 for each link. After a fail-over or restore of the database it continues later. */
  sequence: number;
  /** The number before it, 0 for the first file. */
  previousSequence: number;
  createdAt: Date;
};

/** Rejection reason: the acquirer already accepted another file with this sequence number. */
export const duplicateSequenceReason = 'DUPLICATE';

/** Acknowledgement of a file: accepted, accepted except some lines, or rejected. */
export type ClearingAcknowledgement = {
  fileId: string;
  sequence: number;
  /** Reason if the acquirer rejected the whole file. */
  rejectionReason?: string;
  accepted: number;
  rejections: readonly { line: number; rrn: string; code: string }[];
};

/** The message names the line, from 1. */
export class AcknowledgementFormatError extends Error {
  override name = 'AcknowledgementFormatError';
}

const fileType = 'SWITCHYARD-CLEARING';
const acknowledgementType = 'SWITCHYARD-CLEARING-ACK';
const formatVersion = '1';
const hashModulus = 10n ** 16n;
const maxLines = 100_000;
/** Control characters are invalid in lines; PostgreSQL cannot store NUL. */
const controlCharacter = /\p{Cc}/u;

const formatRecord = (...fields: readonly (string | number)[]) => `${fields.join('|')}\n`;
const formatSequence = ({ sequence }: ClearingHeader) => String(sequence).padStart(6, '0');

function referenceFields({ mti, terminalId, stan, transmittedAt, rrn }: ClearingReference) {
  return [mti, terminalId, stan, transmittedAt, rrn];
}

function formatCaptureRecord(line: ClearingLine, number: number): string {
  return formatRecord(
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

const fileName = (header: ClearingHeader): string =>
  `clearing-${header.institutionId}-${formatSequence(header)}.txt`;

/**
 * Yields the file in chunks; lines are numbered from 1. The trailer has the line count, the amount per currency
 * and the hash total of the RRNs.
 */
async function* writeFile(
  header: ClearingHeader,
  pages: AsyncIterable<readonly ClearingLine[]>,
): AsyncIterable<string> {
  const digest = createHash('sha256');
  const amounts = new Map<string, bigint>();
  let lineCount = 0;
  let hashTotal = 0n;
  const headerRecord = formatRecord(
    'H',
    fileType,
    formatVersion,
    header.institutionId,
    header.linkId,
    formatSequence(header),
    header.fileId,
    header.createdAt.toISOString(),
    header.previousSequence,
  );
  digest.update(headerRecord);
  yield headerRecord;
  for await (const page of pages) {
    let text = '';
    for (const line of page) {
      const currency = numericOf(line.currency);
      amounts.set(currency, (amounts.get(currency) ?? 0n) + BigInt(line.amount));
      hashTotal = (hashTotal + BigInt(line.reference.rrn.replace(/\D/g, '') || 0)) % hashModulus;
      lineCount += 1;
      text += formatCaptureRecord(line, lineCount);
    }
    digest.update(text);
    yield text;
  }
  const sortedAmounts = [...amounts].sort(([a], [b]) => (a < b ? -1 : 1));
  const amountList = sortedAmounts.map(([currency, sum]) => `${currency}:${sum}`).join(',');
  yield formatRecord('T', lineCount, amountList, String(hashTotal), digest.digest('hex'));
}

/** A count has at most nine digits. The reason of a rejection is optional. */
const headerPattern = new RegExp(
  `^A\\|${acknowledgementType}\\|${formatVersion}\\|([0-9]{1,9})` +
    '\\|([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\\|(Accepted|Rejected)(?:\\|([^|]*)|$)',
);
const headerForm = `A|${acknowledgementType}|${formatVersion}|sequence|file id|Accepted or Rejected|reason`;
const rejectionPattern = /^R\|([0-9]{1,9})\|([^|]*)\|([A-Za-z0-9]{1,8})$/;
const trailerPattern = /^T\|([0-9]{1,9})\|([0-9]{1,9})$/;

function failLine(line: number, message: string): never {
  throw new AcknowledgementFormatError(`Line ${line}: ${message}`);
}

/** @param number of the line, from 1 */
const matchLine = (lines: readonly string[], number: number, pattern: RegExp, form: string) =>
  pattern.exec(lines[number - 1] ?? '') ?? failLine(number, `The line must have the form ${form}.`);

function readRejection(lines: readonly string[], number: number) {
  const form = 'R|line|reference|code';
  const [, line, rrn = '', code = ''] = matchLine(lines, number, rejectionPattern, form);
  return { line: Number(line), rrn, code };
}

/** @throws AcknowledgementFormatError if the text is not an acknowledgement */
function readAcknowledgement(text: string): ClearingAcknowledgement {
  const lines = text.replace(/\r\n/g, '\n').replace(/\n$/, '').split('\n');
  const lastLine = lines.length;
  if (lastLine > maxLines) failLine(maxLines, 'The acknowledgement has too many lines.');
  const invalidLine = lines.findIndex((line) => controlCharacter.test(line));
  if (invalidLine !== -1) failLine(invalidLine + 1, 'The line contains a control character.');
  const header = matchLine(lines, 1, headerPattern, headerForm);
  const [, sequence, fileId = '', outcome, reason = ''] = header;
  const trailer = matchLine(lines, lastLine, trailerPattern, 'T|accepted|rejected');
  const [, accepted, rejected] = trailer;
  const rejections = lines.slice(1, -1).map((_, index) => readRejection(lines, index + 2));
  if (new Set(rejections.map(({ line }) => line)).size !== rejections.length)
    failLine(lastLine, 'The acknowledgement rejects a line twice.');
  if (Number(rejected) !== rejections.length)
    failLine(lastLine, 'The rejected count differs from the number of R lines.');
  const rejectionReason = outcome === 'Rejected' ? reason.slice(0, 100) || 'Unknown' : undefined;
  const counts = { sequence: Number(sequence), accepted: Number(accepted) };
  return { fileId, ...counts, rejections, ...defined({ rejectionReason }) };
}

export const referenceClearingFormat = { fileName, writeFile, readAcknowledgement };
