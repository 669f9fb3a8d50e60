// Reads an acquirer's file: comma-separated values (RFC 4180) with column names in the first row.
import type { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { ProblemError, reconciliationLimits, SettlementLine } from '@switchyard/contract';
import { CsvError, parse } from 'csv-parse';
import { createSchemaValidation } from '../../http/index.ts';
import { refuseCardNumber } from './require-no-card-number.ts';

const rowBytesMax = 4_096;
const rowsPerTurn = 200;
const numbers: ReadonlySet<string> = new Set(['amount', 'fee']);
const integer = /^-?\d{1,15}$/;
const check = createSchemaValidation().compile({ schema: SettlementLine, httpPart: 'body' });
const known = Object.keys(SettlementLine.properties);
const needed = SettlementLine.required;

export type FileLine = { readonly line: number; readonly said: SettlementLine };

const malformed = (detail: string) => new ProblemError('malformed_csv', detail);

/** @throws Refusal field_unknown, field_required, malformed_csv */
function columnsOf(names: readonly string[]): string[] {
  const trimmed = names.map((name) => name.trim());
  const strange = trimmed.findIndex((name) => !known.includes(name));
  if (strange >= 0) {
    const detail = `Column ${strange + 1} is not known; known are ${known.join(', ')}.`;
    throw new ProblemError('field_unknown', detail);
  }
  if (new Set(trimmed).size < trimmed.length) throw malformed('A column is there twice.');
  const lacking = needed.filter((name) => !trimmed.includes(name));
  if (lacking.length > 0) {
    throw new ProblemError(
      'field_required',
      `The first row names no column ${lacking.join(', ')}.`,
    );
  }
  return trimmed;
}

/** An empty cell is an omitted member. */
function lineOf(row: Readonly<Record<string, string>>): Record<string, unknown> {
  const members = Object.entries(row).filter(([, cell]) => cell !== '');
  return Object.fromEntries(
    members.map(([name, cell]) => {
      const isNumber = numbers.has(name) && integer.test(cell);
      return [name, isNumber ? Number(cell) : cell];
    }),
  );
}

/**
 * Validates a line; errors contain the codes and pointers of its members, after the line number.
 */
function checked(line: number, value: Record<string, unknown>): SettlementLine {
  const verdict = check(value);
  if (verdict === true) {
    const said = value as SettlementLine;
    refuseCardNumber(said.acquirerReference, `/${line}/acquirerReference`);
    return said;
  }
  const { code, detail, errors = [] } = verdict.error;
  throw new ProblemError(code, `Line ${line} of the file: ${detail}`, {
    errors: errors.map((each) => ({ ...each, pointer: `/${line}${each.pointer}` })),
  });
}

function refusalOf(error: unknown): unknown {
  if (!(error instanceof CsvError)) return error;
  const line = 'lines' in error ? ` near line ${String(error['lines'])}` : '';
  return malformed(`The table cannot be read${line}: a quote is not closed, or a row is too long.`);
}

/** @throws Refusal malformed_csv, field_*, payload_too_large */
export async function* readSettlementFile(body: Readable): AsyncGenerator<FileLine> {
  const parser = parse({
    bom: true,
    columns: columnsOf,
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
          `A file has ${reconciliationLimits.lines} lines at most.`,
        );
      }
      yield { line: info.lines, said: checked(info.lines, lineOf(record)) };
      if (count % rowsPerTurn === 0) await turn();
    }
  } catch (error) {
    throw refusalOf(error);
  } finally {
    body.unpipe(parser);
    parser.destroy();
  }
  if (count === 0) throw malformed('The file has no line.');
}
