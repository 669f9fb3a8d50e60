// The reference clearing format: text lines with `|` separators, and a trailer with counts and a hash.
import { createHash } from 'node:crypto';
import { numericOf } from '@switchyard/money';
import {
  AcknowledgementFormatError,
  type ClearingAcknowledgement,
  type ClearingFormat,
  type ClearingHeader,
  type ClearingLine,
  type ClearingReference,
} from './clearing-format.ts';

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
      const sortedAmounts = [...amounts].sort(([a], [b]) => (a < b ? -1 : 1));
      return [
        count,
        sortedAmounts.map(([currency, sum]) => `${currency}:${sum}`).join(','),
        String(hash),
      ];
    },
  };
}

async function* writeFile(
  header: ClearingHeader,
  pages: AsyncIterable<readonly ClearingLine[]>,
): AsyncIterable<string> {
  const digest = createHash('sha256');
  const totals = createTotals();
  const { institutionId, linkId, fileId, createdAt, previousSequence } = header;
  const headerRecord = formatRecord(
    'H',
    fileType,
    formatVersion,
    institutionId,
    linkId,
    formatSequence(header),
    fileId,
    createdAt,
    previousSequence,
  );
  digest.update(headerRecord);
  yield headerRecord;
  for await (const page of pages) {
    const text = page.map((line) => formatCaptureRecord(line, totals.add(line))).join('');
    digest.update(text);
    yield text;
  }
  yield formatRecord('T', ...totals.fields(), digest.digest('hex'));
}

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function failLine(line: number, message: string): never {
  throw new AcknowledgementFormatError(line, message);
}

function parseCount(text: string | undefined, line: number, fieldLabel: string): number {
  if (text !== undefined && /^[0-9]{1,9}$/.test(text)) return Number(text);
  return failLine(line, `${fieldLabel} is not a number of 1 to 9 digits.`);
}

function readHeader(
  text: string,
): Pick<ClearingAcknowledgement, 'fileId' | 'sequence' | 'rejectionReason'> {
  const [recordType, kind, version, sequence, fileId = '', outcome, reason] = text.split('|');
  if (
    recordType !== 'A' ||
    kind !== acknowledgementType ||
    version !== formatVersion ||
    !uuidPattern.test(fileId)
  ) {
    failLine(1, `The first line must begin with A|${acknowledgementType}|${formatVersion}|.`);
  }
  if (outcome !== 'Accepted' && outcome !== 'Rejected')
    failLine(1, 'The status in the first line must be Accepted or Rejected.');
  const header = { fileId, sequence: parseCount(sequence, 1, 'The sequence') };
  if (outcome === 'Accepted') return header;
  return { ...header, rejectionReason: (reason ?? '').slice(0, 100) || 'Unknown' };
}

function readRejection(text: string, lineNumber: number) {
  const [recordType, line, rrn = '', code = '', ...extraFields] = text.split('|');
  if (recordType !== 'R' || extraFields.length > 0 || !/^[A-Za-z0-9]{1,8}$/.test(code))
    failLine(lineNumber, 'The line must have the form R|line|reference|code.');
  return { line: parseCount(line, lineNumber, 'The line'), rrn, code };
}

function readAcknowledgement(text: string): ClearingAcknowledgement {
  const lines = text.replace(/\r\n/g, '\n').replace(/\n$/, '').split('\n');
  const lastLine = lines.length;
  if (lastLine > maxLines) failLine(maxLines, 'The acknowledgement has too many lines.');
  const invalidLine = lines.findIndex((line) => controlCharacter.test(line));
  if (invalidLine !== -1) failLine(invalidLine + 1, 'The line contains a control character.');
  const header = readHeader(lines[0] ?? '');
  const [recordType, accepted, rejected, ...extraFields] = (lines.at(-1) ?? '').split('|');
  if (recordType !== 'T' || extraFields.length > 0 || lastLine < 2)
    failLine(lastLine, 'The last line must have the form T|accepted|rejected.');
  const rejections = lines.slice(1, -1).map((line, index) => readRejection(line, index + 2));
  if (new Set(rejections.map(({ line }) => line)).size !== rejections.length)
    failLine(lastLine, 'The acknowledgement rejects a line twice.');
  if (parseCount(rejected, lastLine, 'The number of rejected lines') !== rejections.length)
    failLine(lastLine, 'The rejected count differs from the number of R lines.');
  const acceptedCount = parseCount(accepted, lastLine, 'The number of accepted lines');
  return { ...header, accepted: acceptedCount, rejections };
}

export const referenceClearingFormat: ClearingFormat = {
  fileName: (header) => `clearing-${header.institutionId}-${formatSequence(header)}.txt`,
  writeFile,
  readAcknowledgement,
};
