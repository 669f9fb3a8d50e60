// Reads an acquirer's file: comma-separated values (RFC 4180) with column names in the first row.
import type { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { ProblemError, reconciliationLimits, SettlementLine } from '@switchyard/contract';
import { CsvError, parse } from 'csv-parse';
import { createSchemaValidation } from '../../http/index.ts';
import { requireNoCardNumber } from './require-no-card-number.ts';

const rowBytesMax = 4_096;
const rowsPerYield = 200;
const numberColumns: ReadonlySet<string> = new Set(['amount', 'fee']);
const integer = /^-?\d{1,15}$/;
const validate = createSchemaValidation().compile({ schema: SettlementLine, httpPart: 'body' });
const knownColumns = Object.keys(SettlementLine.properties);
const requiredColumns = SettlementLine.required;

export type FileLine = { readonly line: number; readonly content: SettlementLine };

const malformedCsv = (detail: string) => new ProblemError('malformed_csv', detail);

/** @throws ProblemError field_unknown, field_required, malformed_csv */
function readColumnNames(names: readonly string[]): string[] {
  const trimmed = names.map((name) => name.trim());
  const unknownIndex = trimmed.findIndex((name) => !knownColumns.includes(name));
  if (unknownIndex >= 0) {
    const detail = `Column ${unknownIndex + 1} is unknown; the known columns are ${knownColumns.join(', ')}.`;
    throw new ProblemError('field_unknown', detail);
  }
  if (new Set(trimmed).size < trimmed.length) throw malformedCsv('Two columns have the same name.');
  const missing = requiredColumns.filter((name) => !trimmed.includes(name));
  if (missing.length > 0) {
    throw new ProblemError(
      'field_required',
      `The first row lacks the column ${missing.join(', ')}.`,
    );
  }
  return trimmed;
}

/** An empty cell is an omitted member. */
function toMembers(row: Readonly<Record<string, string>>): Record<string, unknown> {
  const members = Object.entries(row).filter(([, cell]) => cell !== '');
  return Object.fromEntries(
    members.map(([name, cell]) => {
      const isNumber = numberColumns.has(name) && integer.test(cell);
      return [name, isNumber ? Number(cell) : cell];
    }),
  );
}

/**
 * Validates a line; errors contain the codes and pointers of its members, after the line number.
 */
function validateLine(line: number, value: Record<string, unknown>): SettlementLine {
  const validation = validate(value);
  if (validation === true) {
    const content = value as SettlementLine;
    requireNoCardNumber(content.acquirerReference, `/${line}/acquirerReference`);
    return content;
  }
  const { code, detail, errors = [] } = validation.error;
  throw new ProblemError(code, `Line ${line} of the file: ${detail}`, {
    errors: errors.map((each) => ({ ...each, pointer: `/${line}${each.pointer}` })),
  });
}

function toCsvProblem(error: unknown): unknown {
  if (!(error instanceof CsvError)) return error;
  const line = 'lines' in error ? ` near line ${String(error['lines'])}` : '';
  return malformedCsv(
    `The file cannot be parsed${line}: a quote is not closed, or a row is too long.`,
  );
}

/** @throws ProblemError malformed_csv, field_*, payload_too_large */
export async function* readSettlementFile(body: Readable): AsyncGenerator<FileLine> {
  const parser = parse({
    bom: true,
    columns: readColumnNames,
    info: true,
    max_record_size: rowBytesMax,
    skip_empty_lines: true,
  });
  body.on('error', (error) => parser.destroy(error));
  body.pipe(parser);
  let count = 0;
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: Record<string, string>;
      info: { lines: number };
    }>) {
      count += 1;
      if (count > reconciliationLimits.lines) {
        throw new ProblemError(
          'payload_too_large',
          `A file may have at most ${reconciliationLimits.lines} lines.`,
        );
      }
      yield { line: info.lines, content: validateLine(info.lines, toMembers(record)) };
      if (count % rowsPerYield === 0) await turn();
    }
  } catch (error) {
    throw toCsvProblem(error);
  } finally {
    body.unpipe(parser);
    parser.destroy();
  }
  if (count === 0) throw malformedCsv('The file has no lines.');
}
