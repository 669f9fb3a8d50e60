/** The values of which structures are made: the format of a text or number. */
import { defined } from '../defined.ts';

/** A text: a pattern, and how many characters. Numbers are read as texts where a text is due. */
export type TextFieldType = {
  readonly fieldKind: 'text';
  readonly pattern?: RegExp;
  readonly max?: number;
};
/** An amount is a decimal number of few enough digits to be exact; a count a whole one. */
export type NumberFieldType = {
  readonly fieldKind: 'amount' | 'count' | 'rate';
  readonly signed?: boolean;
};
type FlagLeaf = { readonly fieldKind: 'flag' };
type OpaqueLeaf = { readonly fieldKind: 'opaque' };
/** The format of a field type. */
export type FieldType = TextFieldType | NumberFieldType | FlagLeaf | OpaqueLeaf;

const text = (pattern?: RegExp, max?: number): TextFieldType => ({
  fieldKind: 'text',
  ...defined({ pattern, max }),
});

/**
 * The leaves of the table.
 *
 * - `PairId` identifies a pair of messages: 1 to 10 characters
 * - `SystemId` names a Sale System or a terminal
 * - `Bytes` are base64, `Opaque` is a text or an object that is carried and never looked into
 */
export const fieldTypes = {
  Text: text(),
  PairId: text(/^[\x20-\x7e]{1,10}$/),
  SystemId: text(/^[\x20-\x7e]{1,128}$/),
  Version: text(/^[\x20-\x7e]{1,20}$/),
  Currency: text(/^[A-Z]{3}$/),
  Language: text(/^[A-Za-z]{2}(?:[-_][A-Za-z]{2})?$/),
  DateTime: text(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?$/),
  Date: text(/^\d{4}-\d{2}-\d{2}/, 40),
  Bytes: text(/^[A-Za-z0-9+/_=-]*$/),
  Amount: { fieldKind: 'amount' },
  Balance: { fieldKind: 'amount', signed: true },
  Rate: { fieldKind: 'rate' },
  Count: { fieldKind: 'count' },
  Flag: { fieldKind: 'flag' },
  Opaque: { fieldKind: 'opaque' },
} as const satisfies Record<string, FieldType>;

/** The name of a leaf. */
export type FieldTypeName = keyof typeof fieldTypes;

/** The TypeScript type of a field type. */
export type FieldTypeValue<Name extends FieldTypeName> = (typeof fieldTypes)[Name] extends {
  fieldKind: 'text';
}
  ? string
  : (typeof fieldTypes)[Name] extends { fieldKind: 'flag' }
    ? boolean
    : (typeof fieldTypes)[Name] extends { fieldKind: 'opaque' }
      ? string | Readonly<Record<string, unknown>>
      : number;
