// The numbers that identify a message at the host: trace number (DE11) and retrieval reference number (DE37).
import { Iso8583Error } from '../errors.ts';
import type { RetrievalReferenceSettings, TraceNumberSettings } from './host-settings.ts';
import type { HostTable } from './host-table.ts';
import { throwTableError } from './host-table-error.ts';
import { compileValueLayout } from './value-layout.ts';

export const defaultTraceNumber: TraceNumberSettings = { digits: 6, uniqueBy: 'Terminal' };

export const defaultRetrievalReference: RetrievalReferenceSettings = {
  assignedBy: 'Platform',
  inRequests: 'Always',
  pattern: 'year:1 day:3 hour:2 number:6',
};

export const patternParts = ['year', 'day', 'hour', 'stan', 'number'] as const;

/** The values of the parts of a pattern; a part has the last digits of its value. */
export type PatternValues = { readonly [part in (typeof patternParts)[number]]: string };

const transmissionTimeField = 7;
const traceField = 11;
const rrnField = 37;
const terminalField = 41;
/** A million numbers of a link. With fewer, the numbers of one day repeat. */
const uniqueDigits = 6;

/** The number of digits of each part of a pattern. */
function partDigits(pattern: string): ReadonlyMap<string, number> {
  const parts = pattern.trim().split(/\s+/);
  return new Map(
    parts.map((part) => {
      const [name = '', length] = part.split(':');
      return [name, Number(length)];
    }),
  );
}

/** Whether no two requests of the link on one day have the same values in the fields. */
export function isUniqueOnLink(table: HostTable, fields: readonly number[]): boolean {
  const { traceNumber, retrievalReference } = table;
  const hasTrace = fields.includes(traceField);
  const hasReference = fields.includes(rrnField);
  if (fields.includes(terminalField) && (hasTrace || hasReference)) return true;
  const { uniqueBy, digits } = traceNumber;
  // Fewer digits repeat on one day, but not within the second that the transmission time names.
  const isTraceUnique = digits >= uniqueDigits || fields.includes(transmissionTimeField);
  return hasReference
    ? (partDigits(retrievalReference.pattern).get('number') ?? 0) >= uniqueDigits
    : hasTrace && uniqueBy === 'Link' && isTraceUnique;
}

/** @throws HostTableError */
export function checkReferenceNumbers(
  { retrievalReference, traceNumber, messages }: HostTable,
  checkValue: (field: number, value: string, at: string) => void,
): void {
  const { assignedBy, inRequests, pattern } = retrievalReference;
  if (assignedBy === 'Platform' && inRequests === 'IfAssigned')
    throwTableError(
      '/retrievalReference/inRequests',
      'must be "Always" if the platform assigns the number',
    );
  const digits = partDigits(pattern);
  const length = [...digits.values()].reduce((sum, each) => sum + each, 0);
  if ([...digits.values()].some((each) => !Number.isInteger(each)))
    throwTableError('/retrievalReference/pattern', 'must have a number of digits for each part');
  if (!digits.has('number') && !digits.has('stan'))
    throwTableError(
      '/retrievalReference/pattern',
      'must contain the part number or stan: otherwise the messages of one hour have the same number',
    );
  if (messages.fields[rrnField] !== undefined)
    checkValue(rrnField, '0'.repeat(length), '/retrievalReference/pattern');
  checkValue(traceField, '0'.repeat(traceNumber.digits), '/traceNumber/digits');
}

/**
 * Compiles the pattern of a retrieval reference number.
 *
 * @param pattern as in a host table, such as `year:1 day:3 hour:2 number:6`
 * @throws Iso8583Error `table_invalid` for an invalid pattern
 * @example
 * ```ts
 * const write = compileReferencePattern('day:3 number:6');
 * write({ year: '2026', day: '333', hour: '12', stan: '000001', number: '70001' }); // '333070001'
 * ```
 */
export function compileReferencePattern(pattern: string): (values: PatternValues) => string {
  const layout = compileValueLayout(pattern);
  if (layout === undefined) throw new Iso8583Error('table_invalid', rrnField);
  return layout.write;
}
