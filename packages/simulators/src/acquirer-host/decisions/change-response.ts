// Changes the responses of the host, for hosts that do not repeat each field of the request as it is.
import type { HostTable, Message } from '@switchyard/iso8583';
import { UsageError } from '../../usage-error.ts';

/**
 * How the responses of the host differ from a plain repetition of the request.
 *
 * @example
 * const changes: ResponseChanges = { omit: [42], assignsRetrievalReference: true };
 */
export type ResponseChanges = {
  /** Fields that the host leaves out. */
  omit?: readonly number[];
  /** Fields of which the host returns the first half only. */
  shorten?: readonly number[];
  /** Fields that the host fills with blanks up to their maximum length. */
  pad?: readonly number[];
  /** The host returns its own retrieval reference number (DE37), and finds originals by it. */
  assignsRetrievalReference?: boolean;
  /** The host returns the account type 30 (credit) in DE3 for the default account. */
  fillsAccountType?: boolean;
};

const processingCodeField = 3;
const rrnField = 37;
const repeatedFields: readonly number[] = [3, 7, 11, 12, 13, 32, 37, 41, 42];
const defaultAccount = '00';
const creditAccount = '30';

function parseFields(text: string, name: string): number[] {
  const fields = text.split('+').map(Number);
  if (fields.some((field) => !repeatedFields.includes(field)))
    throw new UsageError(
      `--responses: ${name} takes fields such as 41+42; the fields are ${repeatedFields.join(', ')}`,
    );
  return fields;
}

/**
 * Parses the option `--responses`, such as `omit=3+42,assign=37,account-type`.
 *
 * @throws UsageError for another text
 */
export function parseResponseChanges(text: string): ResponseChanges {
  const changes: ResponseChanges = {};
  for (const part of text.split(',')) {
    const [name = '', fields = ''] = part.split('=');
    if (part === 'assign=37') changes.assignsRetrievalReference = true;
    else if (part === 'account-type') changes.fillsAccountType = true;
    else if (name === 'omit' || name === 'shorten' || name === 'pad')
      changes[name] = parseFields(fields, name);
    else
      throw new UsageError(
        `--responses: ${part} is not one of omit=FIELDS, shorten=FIELDS, pad=FIELDS, assign=37, account-type`,
      );
  }
  return changes;
}

/** The changes that a host table allows: the simulated host makes each of them. */
export function responseChangesOf({ correlation, retrievalReference }: HostTable): ResponseChanges {
  const ignored = repeatedFields.filter(
    (field) => field !== rrnField && correlation.echo[field] === 'Ignore',
  );
  return {
    omit: ignored,
    assignsRetrievalReference: retrievalReference.assignedBy === 'Host',
    fillsAccountType: correlation.echo[processingCodeField] === 'PrefixEqual',
  };
}

/** Applies the changes to the response of a payment. */
export function createResponseChanger(
  { messages }: HostTable,
  { omit = [], shorten = [], pad = [], fillsAccountType = false }: ResponseChanges,
): (response: Message) => Message {
  const maximumOf = (field: number) => messages.fields[field]?.max ?? 0;
  const changeField = (field: number, value: string): string => {
    const part = shorten.includes(field)
      ? value.trimEnd().slice(0, Math.ceil(value.trimEnd().length / 2))
      : value;
    const isFilled = pad.includes(field) || messages.fields[field]?.size === 'fixed';
    return isFilled ? part.padEnd(maximumOf(field), ' ') : part;
  };
  return (response) => {
    if (response.mti.startsWith('08')) return response;
    const fields = { ...response.fields };
    for (const field of [...shorten, ...pad]) {
      const value = fields[field];
      if (value !== undefined) fields[field] = changeField(field, value);
    }
    const code = fields[processingCodeField];
    if (fillsAccountType && code?.slice(2, 4) === defaultAccount)
      fields[processingCodeField] = code.slice(0, 2) + creditAccount + code.slice(4);
    for (const field of omit) delete fields[field];
    return { ...response, fields };
  };
}
