// Which fields assign a response to its request, and which fields a response has to repeat.
import type { Message } from '../message.ts';
import type { CorrelationSettings, EchoComparison } from './host-settings.ts';
import type { HostTable } from './host-table.ts';
import { throwTableError } from './host-table-error.ts';
import { isUniqueOnLink } from './reference-numbers.ts';

export const defaultCorrelation: CorrelationSettings = {
  fields: [41, 11],
  echo: { 3: 'Equal', 11: 'Equal', 37: 'EqualIfPresent', 41: 'Equal', 42: 'EqualTrimmed' },
};

export type Correlation = {
  /** The same text for a request and its response. */
  keyOf(message: Message): string;
  /** Whether a response belongs to the class of its request, and repeats the fields of the table. */
  echoesRequest(request: Message, response: Message): boolean;
};

const processingCodeField = 3;
const traceField = 11;
const rrnField = 37;
const transactionTypeDigits = 2;

type Comparison = (sent: string | undefined, received: string | undefined) => boolean;

const equalTrimmed: Comparison = (sent = '', received = '') => sent.trim() === received.trim();

const comparisons: { readonly [name in EchoComparison]: Comparison } = {
  Equal: (sent, received) => sent === received,
  EqualTrimmed: equalTrimmed,
  PrefixEqual(sent, received) {
    const [long = '', short = ''] = [sent?.trim() ?? '', received?.trim() ?? ''].sort(
      (a, b) => b.length - a.length,
    );
    return short !== '' && long.startsWith(short);
  },
  EqualIfPresent: (sent, received) => received === undefined || equalTrimmed(sent, received),
  Ignore: () => true,
};

/** The first two digits of a processing code are the transaction type; the accounts follow. */
const hasSameTransactionType: Comparison = (sent, received) =>
  received?.slice(0, transactionTypeDigits) === sent?.slice(0, transactionTypeDigits);

const comparisonOf = (field: number, name: EchoComparison): Comparison =>
  field === processingCodeField && name === 'PrefixEqual'
    ? hasSameTransactionType
    : comparisons[name];

const isNetwork = (mti: string) => mti[1] === '8';

/** Compiles the member `correlation` of a table. */
export function compileCorrelation({ fields, echo }: CorrelationSettings): Correlation {
  const echoed = Object.entries(echo).map(
    ([key, name]) => [Number(key), comparisonOf(Number(key), name)] as const,
  );
  // Network messages have a trace number of their own, and neither a terminal nor a retrieval reference number.
  const networkFields = [traceField];
  return {
    keyOf({ mti, fields: values }) {
      let key = mti.slice(0, 2);
      for (const field of isNetwork(mti) ? networkFields : fields)
        key += `|${values[field]?.trimEnd() ?? ''}`;
      return key;
    },
    echoesRequest(request, response) {
      const responseClass = request.mti.slice(0, 2) + String(Number(request.mti[2]) + 1);
      if (response.mti.slice(0, 3) !== responseClass) return false;
      return echoed.every(([field, isEcho]) =>
        isEcho(request.fields[field], response.fields[field]),
      );
    },
  };
}

/** The fields that each payment request has, and that a host can repeat. */
export const repeatableFields: readonly number[] = [3, 7, 11, 12, 13, 32, 37, 41, 42];

function whyNotSent(table: HostTable, field: number): string | undefined {
  if (table.constants?.[field] !== undefined) return 'the table replaces it by a constant';
  if (table.omit?.includes(field)) return 'the table omits it';
  if (field === rrnField && table.retrievalReference.assignedBy === 'Host')
    return 'the host assigns its own number (retrievalReference)';
  return undefined;
}

/** @throws HostTableError if a response cannot be assigned to its request, or never passes the check */
export function checkCorrelation(table: HostTable): void {
  const { fields, echo } = table.correlation;
  for (const [key, comparison] of Object.entries(echo)) {
    const reason = comparison === 'Ignore' ? undefined : whyNotSent(table, Number(key));
    if (reason !== undefined)
      throwTableError(
        `/correlation/echo/${key}`,
        `must be "Ignore": a response cannot repeat field ${key}, because ${reason}`,
      );
  }
  for (const [index, field] of fields.entries()) {
    const at = `/correlation/fields/${index}`;
    const reason = whyNotSent(table, field);
    if (reason !== undefined)
      throwTableError(
        at,
        `must not be ${field}: a response cannot repeat this field, because ${reason}. Use other fields`,
      );
    const comparison = echo[field];
    if (comparison === 'Ignore' || comparison === 'PrefixEqual')
      throwTableError(
        at,
        `must not be ${field}: with the comparison "${comparison}" in echo a response can have another value. ` +
          'Use other fields, or compare it with "Equal" or "EqualTrimmed"',
      );
  }
  if (!isUniqueOnLink(table, fields))
    throwTableError(
      '/correlation/fields',
      'must identify a request: two terminals of the link can send these fields with the same values on one day. ' +
        'Use 41 with 11 or 37; or 37, if its pattern has a number of six digits or more; ' +
        'or 11, if traceNumber is unique by "Link" and has six digits or more; with fewer digits add 7',
    );
}
