/** Schemas of the values that every chapter shares: identifiers, times, money, labels, pages. */
import { amountMax, amountMin } from '@switchyard/money';
import { type Static, type TEnum, type TSchema, Type } from 'typebox';

/**
 * The database can hold no U+0000, so looking for one would be a fault and not an empty list.
 *
 * @example
 * Type.String({ maxLength: 64, pattern: findable });
 */
export const findable = '^[^\\u0000]*$';

/**
 * The error codes that a schema gives to its faults, by JSON Schema keyword. `zero` stands for
 * `minimum` with the value 0. A keyword that is not named gets the general code of its kind.
 *
 * @example
 * const codes: FieldCodes = { type: 'amount_invalid', zero: 'amount_zero' };
 */
export type FieldCodes = Readonly<Record<string, string>>;

/**
 * The annotation that carries {@link FieldCodes} on a schema.
 *
 * @param codes - error codes by JSON Schema keyword
 * @returns an object to spread into the options of a schema
 * @example
 * Type.String({ pattern: '^[A-Z]{3}$', ...fieldCodes({ pattern: 'currency_unknown' }) });
 */
export function fieldCodes(codes: FieldCodes): { 'x-codes': FieldCodes } {
  return { 'x-codes': codes };
}

/**
 * A word out of a list. Unlike a bare enumeration it says that it is a text, so that a value of
 * another type and an unknown word are told apart.
 *
 * @param words - the words, PascalCase
 * @param options - description and further annotations
 * @returns the schema
 * @example
 * const schema = Type.Object({ captureMode: wordOf(['Immediate', 'Deferred']) });
 */
export function wordOf<const Word extends string>(
  words: readonly Word[],
  options: Record<string, unknown> = {},
): TEnum<Word[]> {
  return Type.Enum<Word[]>([...words], { type: 'string', ...options });
}

/**
 * A UUID in its textual form (RFC 9562). The platform makes version 7.
 *
 * @example
 * const schema = Type.Object({ merchantId: Uuid });
 */
export const Uuid = Type.String({
  format: 'uuid',
  description: 'A UUID (RFC 9562).',
  examples: ['019823f0-5d2c-7a31-9a53-0c6f1f2e9b11'],
});

/**
 * The form of a serial number on the housing of a terminal, wherever one is named. It holds no hyphen, which
 * parts make and model from it in a whole terminal serial number.
 *
 * @example
 * const schema = Type.Object({ serialNumber: Type.String(serialNumberForm) });
 */
export const serialNumberForm = { pattern: '^[A-Za-z0-9._]{1,32}$' } as const;

/**
 * A time: RFC 3339 in UTC; the platform writes milliseconds.
 *
 * @example
 * const schema = Type.Object({ createdAt: Timestamp });
 */
export const Timestamp = Type.String({
  format: 'date-time',
  maxLength: 40,
  description: 'A time after RFC 3339, in UTC and with milliseconds where the platform writes it.',
  examples: ['2026-03-01T12:30:00.000Z'],
});

/**
 * An amount that a client sends, in minor units of its currency: 1 to 999 999 999 999.
 *
 * @example
 * const schema = Type.Object({ amount: Amount, currency: Currency });
 */
export const Amount = Type.Integer({
  minimum: amountMin,
  maximum: amountMax,
  description: 'An amount in minor units of its currency (ISO 4217): 1050 EUR is 10.50 euro.',
  examples: [1050],
  ...fieldCodes({
    type: 'amount_invalid',
    minimum: 'amount_invalid',
    zero: 'amount_zero',
    maximum: 'amount_too_large',
  }),
});

/**
 * An amount in an answer, in minor units, zero included.
 *
 * @example
 * const schema = Type.Object({ capturedAmount: AnswerAmount });
 */
export const AnswerAmount = Type.Integer({
  minimum: 0,
  description: 'An amount in minor units of the currency of the transaction; may be zero.',
  examples: [1050],
});

/**
 * An alphabetic ISO 4217 code. That the code is active is checked apart, with `isActiveCurrency`.
 *
 * @example
 * const schema = Type.Object({ amount: Amount, currency: Currency });
 */
export const Currency = Type.String({
  pattern: '^[A-Z]{3}$',
  description: 'An alphabetic ISO 4217 code that is active at the time of the sale.',
  examples: ['EUR'],
  ...fieldCodes({ type: 'currency_unknown', pattern: 'currency_unknown' }),
});

/** `.` and `..` are no names in a path: clients and proxies take them away before we see them. */
const clientIdentifierPattern = '^(?:\\.{3}|\\.{0,2}[A-Za-z0-9_:-])[A-Za-z0-9._:-]*$';

const clientIdentifier = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 64,
    pattern: clientIdentifierPattern,
    description,
    examples: ['b3c9f1de-8b14-4a42-9c33-6a6b2b0f4a11'],
    ...fieldCodes({
      type: 'client_id_invalid',
      minLength: 'client_id_invalid',
      maxLength: 'client_id_invalid',
      pattern: 'client_id_invalid',
    }),
  });

/**
 * An identifier that a client makes: 1 to 64 characters of `A-Z a-z 0-9 . _ : -`, and neither `.` nor
 * `..`, which no address can name.
 *
 * @example
 * const schema = Type.Object({ clientTransactionId: ClientIdentifier });
 */
export const ClientIdentifier = clientIdentifier(
  'An identifier made by the client, unique for ever; a UUID is advised. Not `.` or `..`.',
);

/**
 * The {@link ClientIdentifier} of a payment that is made; the header `Idempotency-Key` may name it instead.
 *
 * @example
 * const schema = Type.Object({ clientTransactionId: Type.Optional(PaymentIdentifier) });
 */
export const PaymentIdentifier = clientIdentifier(
  'An identifier made by the client, unique for ever; a UUID is advised. Not `.` or `..`. Required, unless the header Idempotency-Key names the payment; both must agree.',
);

/** Keys of labels and metadata. */
const annotationKey = { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$' };

/**
 * Labels of a provisioned entity: at most 20, each of 1 to 128 characters.
 *
 * @example
 * const labels: Labels = { region: 'north' };
 */
export const Labels = Type.Record(Type.String(), Type.String({ minLength: 1, maxLength: 128 }), {
  maxProperties: 20,
  propertyNames: annotationKey,
  description: 'Short texts by which entities are found and grouped; at most 20.',
  examples: [{ region: 'north' }],
});
/** What the schema {@link Labels} describes. */
export type Labels = Static<typeof Labels>;

/**
 * Metadata of a transaction: at most 20 members, each a text of at most 256 characters. Card data
 * has no place in it and is refused.
 *
 * @example
 * const metadata: Metadata = { table: '12' };
 */
export const Metadata = Type.Record(Type.String(), Type.String({ maxLength: 256 }), {
  maxProperties: 20,
  propertyNames: annotationKey,
  description: 'Texts of the client that are stored and given back; at most 20, never card data.',
  examples: [{ table: '12' }],
});
/** What the schema {@link Metadata} describes. */
export type Metadata = Static<typeof Metadata>;

/**
 * The body of a refusal's list of faulty members.
 *
 * @example
 * const schema = Type.Array(FieldErrorSchema);
 */
export const FieldErrorSchema = Type.Object({
  pointer: Type.String({
    description: 'A JSON pointer (RFC 6901) into the body, or ?name for a query parameter.',
    examples: ['/amount'],
  }),
  code: Type.String({ description: 'What is wrong, as a code.', examples: ['amount_zero'] }),
  detail: Type.String({ description: 'What is wrong, in words; never the value itself.' }),
});

/**
 * The schema of one page of a list.
 *
 * @param item - the schema of one item
 * @returns `{ items, nextCursor }`; `nextCursor` is null on the last page
 * @example
 * const MerchantPage = pageOf(Merchant);
 */
export function pageOf<Item extends TSchema>(item: Item) {
  return Type.Object({
    items: Type.Array(item),
    nextCursor: Type.Union([Type.String(), Type.Null()], {
      description: 'Send it as ?cursor= for the next page; null on the last one.',
    }),
  });
}

/**
 * A sum of amounts, in minor units. It is a text, since sums can be greater than the integers that
 * every JSON reader keeps whole.
 *
 * @example
 * const captured = BigInt(sum.captured);
 */
export const SumAmount = Type.String({
  pattern: '^-?[0-9]{1,30}$',
  description: 'Minor units of the currency, as a text: sums may be greater than 2^53.',
  examples: ['125000'],
});
