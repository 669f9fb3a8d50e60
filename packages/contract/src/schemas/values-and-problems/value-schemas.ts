/** Schemas of common values: identifiers, times, amounts, labels and pages. */
import { amountMax, amountMin } from '@switchyard/money';
import { type Static, type TEnum, type TSchema, Type } from 'typebox';

/**
 * PostgreSQL text cannot contain U+0000, so a search for it would fail instead of finding nothing.
 *
 * @example
 * Type.String({ maxLength: 64, pattern: findable });
 */
export const findable = '^[^\\u0000]*$';

/**
 * The error codes of a schema's faults, by JSON Schema keyword. `zero` means `minimum` with the
 * value 0. Other keywords use the general code of their kind.
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
 * The schema of a word from a list. Unlike a plain enumeration it has the type string, so that a
 * value of another type and an unknown word give different errors.
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
 * A UUID in its text form (RFC 9562). The platform makes version 7.
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
 * The pattern of the serial number on a terminal. It has no hyphen, which separates make and model
 * from the serial number in a full terminal serial number.
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
 * An amount of a request in minor units of its currency: 1 to 999 999 999 999.
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
 * An amount of a response in minor units; it can be zero.
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
 * An alphabetic ISO 4217 code. `isActiveCurrency` checks separately that the code is active.
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

/** `.` and `..` are not allowed, because clients and proxies remove these path segments. */
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
 * An identifier that a client makes: 1 to 64 characters of `A-Z a-z 0-9 . _ : -`. It is not `.` or
 * `..`, which cannot be part of a URL path.
 *
 * @example
 * const schema = Type.Object({ clientTransactionId: ClientIdentifier });
 */
export const ClientIdentifier = clientIdentifier(
  'An identifier made by the client, unique for ever; a UUID is advised. Not `.` or `..`.',
);

/**
 * The {@link ClientIdentifier} of a new payment; the header `Idempotency-Key` can contain it
 * instead.
 *
 * @example
 * const schema = Type.Object({ clientTransactionId: Type.Optional(PaymentIdentifier) });
 */
export const PaymentIdentifier = clientIdentifier(
  'An identifier made by the client, unique for ever; a UUID is advised. Not `.` or `..`. Required, unless the header Idempotency-Key names the payment; both must agree.',
);

/** The keys of labels and metadata. */
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
/** The type of {@link Labels}. */
export type Labels = Static<typeof Labels>;

/**
 * Metadata of a transaction: at most 20 members, each a text of at most 256 characters. Card data
 * is refused.
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
/** The type of {@link Metadata}. */
export type Metadata = Static<typeof Metadata>;

/**
 * One faulty member in the body of a refusal.
 *
 * @example
 * const schema = Type.Array(FieldErrorSchema);
 */
export const FieldErrorSchema = Type.Object({
  pointer: Type.String({
    description: 'A JSON pointer (RFC 6901) into the body, or ?name for a query parameter.',
    examples: ['/amount'],
  }),
  code: Type.String({ description: 'The error code.', examples: ['amount_zero'] }),
  detail: Type.String({ description: 'The description of the error, without the value.' }),
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
 * A sum of amounts in minor units. It is a text, because a sum can exceed the integers that every
 * JSON parser reads exactly.
 *
 * @example
 * const captured = BigInt(sum.captured);
 */
export const SumAmount = Type.String({
  pattern: '^-?[0-9]{1,30}$',
  description: 'Minor units of the currency, as a text: sums may be greater than 2^53.',
  examples: ['125000'],
});
