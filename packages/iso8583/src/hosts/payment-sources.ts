// The payment data from which a host table builds fields, and into which it reads them.
import type { Fields, Message, OriginalMessage, PaymentDataName } from '../message.ts';
import { sampleTags } from './chip-tags.ts';

/** One value of a payment, as text; bytes in hexadecimal digits. */
export type PaymentSource = {
  read(message: Message): string | undefined;
  /** Adds the value to a decoded message that does not have it otherwise. */
  write?(message: Message, value: string): void;
  /** A value of the maximum length, for the check of a table; undefined for a tag of the chip without one. */
  readonly sample: string | undefined;
};

const field = (number: number, sample: string): PaymentSource => ({
  read: ({ fields }) => fields[number]?.trimEnd(),
  write({ fields }, value) {
    fields[number] ??= value;
  },
  sample,
});

const privateField = 48;
const amountsField = 54;
const chipField = 55;

/** Subelements of field 48: tag and length of two digits each, then the value. */
function readSubelements({ [privateField]: text = '' }: Fields): Map<string, string> {
  const elements = new Map<string, string>();
  for (let at = 0; at + 4 <= text.length; ) {
    const end = at + 4 + Number(text.slice(at + 2, at + 4));
    if (!(end <= text.length)) return elements;
    elements.set(text.slice(at, at + 2), text.slice(at + 4, end));
    at = end;
  }
  return elements;
}

function writeSubelement(fields: Fields, tag: string, value: string): void {
  const elements = readSubelements(fields).set(tag, value);
  const sorted = [...elements].toSorted(([a], [b]) => (a < b ? -1 : 1));
  fields[privateField] = sorted
    .map(([name, text]) => name + String(text.length).padStart(2, '0') + text)
    .join('');
}

const subelement = (tag: string, sample: string): PaymentSource => ({
  read: ({ fields }) => readSubelements(fields).get(tag),
  write({ fields }, value) {
    if (!readSubelements(fields).has(tag)) writeSubelement(fields, tag, value);
  },
  sample,
});

const addressTag = '82';
const postalCodeLength = 9;

const addressOf = ({ fields }: Message) => readSubelements(fields).get(addressTag);

const postalCode: PaymentSource = {
  read: (message) => addressOf(message)?.slice(0, postalCodeLength).trimEnd(),
  write(message, value) {
    const houseNumber = addressOf(message)?.slice(postalCodeLength) ?? '';
    writeSubelement(message.fields, addressTag, value.padEnd(postalCodeLength) + houseNumber);
  },
  sample: '123456789',
};

const houseNumber: PaymentSource = {
  read: (message) => addressOf(message)?.slice(postalCodeLength),
  write(message, value) {
    const postal = addressOf(message)?.slice(0, postalCodeLength) ?? '';
    writeSubelement(message.fields, addressTag, postal.padEnd(postalCodeLength) + value);
  },
  sample: '1234567890',
};

/** An address in one line can be longer than any field for it. */
const freeTextLength = 200;
/** The maximum length of `order.orderId` in the API. */
const orderIdLength = 64;

const amountPattern = /[0-9]{2}([0-9]{2})[0-9]{3}[CD]([0-9]{12})/g;

/** A part of the amount by its type in field 54. */
const amountPart = (type: string): PaymentSource => ({
  read({ fields: { [amountsField]: text = '' } }) {
    for (const [, each, amount] of text.matchAll(amountPattern)) if (each === type) return amount;
    return undefined;
  },
  sample: '123456789012',
});

const originalPart = (part: keyof OriginalMessage, sample: string): PaymentSource => ({
  read: ({ original }) => original?.[part],
  write(message, value) {
    if (/[^0 ]/.test(value)) message.original = { [part]: value, ...message.original };
  },
  sample,
});

/** A text with the characters that fields with the content `ans` allow. */
const toLatin1 = (text: string): string =>
  text.normalize('NFC').replace(/[^\x20-\x7e\xa0-\xff]/gu, (character) =>
    character
      .normalize('NFKD')
      .replace(/[^\x20-\x7e]/gu, '')
      .padEnd(1, '?'),
  );

const dataMember = (name: PaymentDataName, sample: string): PaymentSource => ({
  read: ({ data: { [name]: text } = {} }) => text && toLatin1(text),
  write(message, value) {
    message.data = { ...message.data, [name]: value };
  },
  sample,
});

/** Values of every payment, by the names that a host table uses. */
export const requestSources = {
  cardNumber: field(2, '4'.repeat(19)),
  amount: field(4, '123456789012'),
  tip: amountPart('44'),
  cashback: amountPart('40'),
  transmissionTime: field(7, '0131120000'),
  stan: field(11, '900001'),
  localTime: field(12, '130100'),
  localDate: field(13, '0131'),
  expiry: field(14, '3012'),
  mcc: field(18, '5411'),
  entryMode: field(22, '051'),
  panSequence: field(23, '001'),
  condition: field(25, '00'),
  institution: field(32, '12345678901'),
  track2: field(35, `${'4'.repeat(16)}=`.padEnd(37, '3')),
  rrn: field(37, '603112900001'),
  approvalCode: field(38, 'A1B2C3'),
  terminal: field(41, 'TERM0001'),
  merchant: field(42, 'M00000000000001'),
  currency: field(49, '978'),
  securityCode: subelement('92', '1234'),
  postalCode,
  houseNumber,
  chip: field(chipField, '9F2608AABBCCDD11223344'),
  originalType: originalPart('type', '0200'),
  originalStan: originalPart('stan', '900001'),
  originalRrn: originalPart('rrn', '603112900001'),
  originalApprovalCode: originalPart('approval', 'A1B2C3'),
  originalDate: originalPart('date', '0131'),
  originalTime: originalPart('time', '130100'),
  originalTerminal: originalPart('terminal', 'TERM0001'),
  originalAmount: originalPart('amount', '123456789012'),
  // A free text needs a field with the content `ans`.
  merchantName: dataMember('merchantName', 'É. & '.padEnd(freeTextLength, 'M')),
  merchantAddress: dataMember('merchantAddress', '1, É. '.padEnd(freeTextLength, 'A')),
  orderId: dataMember('orderId', '#-'.padEnd(orderIdLength, 'O')),
} as const satisfies { readonly [name: string]: PaymentSource };

/** Values of a response. */
export const responseSources = {
  approvalCode: requestSources.approvalCode,
  chip: requestSources.chip,
  addressResult: subelement('83', 'Y'),
  receiptText: dataMember('receiptText', 'R'.repeat(20)),
  networkReference: dataMember('networkReference', 'N'.repeat(12)),
  balance: dataMember('balance', '123456789012'),
} as const satisfies { readonly [name: string]: PaymentSource };

const chipTagPattern = /^chip\.((?:[0-9A-F]{2}){1,2})$/;
const longTag = 0x1f;
const longLength = 0x80;

/** A data object at the highest level of field 55. */
function readChipTag(hex: string, tag: string): string | undefined {
  const bytes = Buffer.from(hex, 'hex');
  for (let at = 0; at < bytes.length; ) {
    const start = at;
    at += ((bytes[at] ?? 0) & longTag) === longTag ? 2 : 1;
    const name = bytes.toString('hex', start, at).toUpperCase();
    const first = bytes[at] ?? 0;
    const lengthBytes = first < longLength ? 0 : first - longLength;
    if (lengthBytes > 2 || at + 1 + lengthBytes > bytes.length) return undefined;
    const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 1, lengthBytes);
    at += 1 + lengthBytes;
    if (name === tag) return bytes.toString('hex', at, at + length).toUpperCase();
    at += length;
  }
  return undefined;
}

/** @returns the source of a name such as `stan` or `chip.9F26` */
export function findSource(
  sources: { readonly [name: string]: PaymentSource },
  name: string,
): PaymentSource | undefined {
  const [, tag] = chipTagPattern.exec(name) ?? [];
  if (tag === undefined || sources !== requestSources)
    return Object.hasOwn(sources, name) ? sources[name] : undefined;
  const [, bytes] = sampleTags.find(([each]) => each === tag) ?? [];
  return {
    read: ({ fields: { [chipField]: chip } }) =>
      chip === undefined ? undefined : readChipTag(chip, tag),
    sample: bytes === undefined ? undefined : '00'.repeat(bytes),
  };
}
