/** Describes values of fields whose meaning ISO 8583 or the platform defines. */
import { responseCodes } from '@switchyard/contract';
import type { HostTable, Message } from '@switchyard/iso8583';

type Texts = Readonly<Record<string, string>>;

const versions: Texts = { '0': 'ISO 8583:1987', '1': 'ISO 8583:1993', '2': 'ISO 8583:2003' };
const classes: Texts = {
  '1': 'authorisation',
  '2': 'financial',
  '3': 'file action',
  '4': 'reversal',
  '5': 'reconciliation',
  '6': 'administrative',
  '7': 'fee collection',
  '8': 'network management',
};
const functions: Texts = {
  '0': 'request',
  '1': 'response',
  '2': 'advice',
  '3': 'response to an advice',
  '4': 'notification',
};
const origins: Texts = {
  '0': 'from the acquirer',
  '1': 'from the acquirer, repeated',
  '2': 'from the issuer',
  '3': 'from the issuer, repeated',
};

const transactionTypes: Texts = {
  '00': 'purchase',
  '01': 'cash withdrawal',
  '02': 'void',
  '09': 'purchase with cashback',
  '20': 'refund',
  '22': 'credit adjustment',
  '30': 'balance inquiry',
  '31': 'balance inquiry',
};
const accountTypes: Texts = {
  '00': 'default account',
  '10': 'savings account',
  '20': 'cheque account',
  '30': 'credit account',
};
const entryModes: Texts = {
  '01': 'keyed',
  '02': 'magnetic stripe',
  '05': 'chip',
  '07': 'contactless chip',
  '80': 'magnetic stripe after a failed chip',
  '90': 'magnetic stripe, whole track',
  '91': 'contactless magnetic stripe',
};
const pinCapabilities: Texts = { '1': 'PIN can be entered', '2': 'no PIN can be entered' };
const conditions: Texts = {
  '00': 'normal',
  '06': 'more captures follow',
  '08': 'mail or telephone order',
  '51': 'account verification',
};
const reversalReasons: Texts = {
  '4000': 'cancelled by the customer or the merchant',
  '4004': 'the card was removed',
  '4007': 'other reason',
  '4020': 'the answer does not match the request',
  '4021': 'no answer in time',
  '4351': 'the chip declined after the approval',
};
const networkFunctions: Texts = {
  '001': 'sign-on',
  '002': 'sign-off',
  '101': 'new key',
  '161': 'key request',
  '201': 'cut-over',
  '301': 'echo',
};

const join = (...parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined).join(', ');

const digits = (value: string) => /^[0-9]+$/.test(value);

/** The meanings by field of the canonical message, of 1987. */
const canonicalMeanings: Readonly<Record<number, (value: string) => string | undefined>> = {
  3: (value) =>
    join(
      transactionTypes[value.slice(0, 2)],
      accountTypes[value.slice(2, 4)] && `from ${accountTypes[value.slice(2, 4)]}`,
    ),
  4: (value) => (digits(value) ? `${BigInt(value)} minor units` : undefined),
  7: (value) => `${value.slice(2, 4)}.${value.slice(0, 2)}. ${time(value.slice(4))} UTC`,
  12: (value) => time(value),
  13: (value) => `${value.slice(2, 4)}.${value.slice(0, 2)}.`,
  14: (value) => `20${value.slice(0, 2)}-${value.slice(2, 4)}`,
  22: (value) => join(entryModes[value.slice(0, 2)], pinCapabilities[value.slice(2)]),
  25: (value) => conditions[value] ?? reversalReasons[value],
  39: (value) => {
    const facts = responseCodes[value];
    return facts && join(facts.approved ? 'approved' : 'declined', facts.reason);
  },
  70: (value) => networkFunctions[value],
};

function time(value: string): string {
  return [value.slice(0, 2), value.slice(2, 4), value.slice(4, 6)].join(':');
}

/** @param canonical states the operation, if the table has its own operations */
export function describeMessageType(type: string, canonical: Message | undefined): string {
  const [version = '', kind = '', step = '', origin = ''] = type;
  const operation = canonical?.operation && `operation ${canonical.operation.name}`;
  return join(versions[version], classes[kind], functions[step], origins[origin], operation);
}

type FieldContent = NonNullable<HostTable['contents']>[number];

function nameSource(content: FieldContent): string {
  if (typeof content === 'string') return content;
  if ('constant' in content) return `constant ${content.constant}`;
  if ('source' in content) return content.source;
  const parts = Object.entries(content.parts).map(([id, part]) => `${id} ${nameSource(part)}`);
  return parts.join(', ');
}

/** @returns the names of the sources of a field; undefined for a field that the table does not build */
export function describeSource(
  { contents, responseContents, operations }: HostTable,
  field: number,
  canonical: Message | undefined,
): string | undefined {
  const isAnswer = Number(canonical?.mti[2]) % 2 === 1;
  const name = canonical?.operation?.name;
  const contentOfOperation = name === undefined ? undefined : operations?.[name]?.contents?.[field];
  const content = isAnswer ? responseContents?.[field] : (contentOfOperation ?? contents?.[field]);
  return content === undefined ? undefined : nameSource(content);
}

/**
 * @param canonical the message in the form of 1987, if the table can convert it
 * @returns the meaning of a field of the host's message; undefined without one
 */
export function describeField(
  field: number,
  value: string,
  canonical: Message | undefined,
): string | undefined {
  const canonicalValue = canonical?.fields[field];
  const meaning = canonicalMeanings[field]?.(canonicalValue ?? value) || undefined;
  if (canonicalValue === undefined || canonicalValue === value) return meaning;
  return join(`${canonicalValue} for the platform`, meaning);
}
