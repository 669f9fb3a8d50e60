/** The one table of structures, and the types that follow from it. */
import { deviceRows } from './device.ts';
import type { FieldTypeName, FieldTypeValue } from './field-types.ts';
import { headerRows } from './header.ts';
import { loyaltyRows } from './loyalty.ts';
import { paymentRows } from './payment.ts';
import { instrumentRows } from './payment-instruments.ts';
import { sessionRows } from './session.ts';
import type { ClosedValue, closedSets, OpenValue, openSets } from './value-sets.ts';

/**
 * Every structure of the protocol: members, their types and how often they may occur. Types,
 * validators and JSON Schemas are derived from it. A member is mandatory here if the message has no
 * meaning without it; where public models differ, the table has both forms.
 *
 * Source: nexo Sale to POI 3.0 and 3.1 as the models of `@adyen/api-library` 32.1.0 list it
 * (`typings/terminal`, `typings/tapi`); a test compares.
 *
 * @example
 * structures.AmountsResp.AuthorizedAmount; // 'Amount': once, an amount
 */
export const structures = {
  ...headerRows,
  ...paymentRows,
  ...instrumentRows,
  ...loyaltyRows,
  ...deviceRows,
  ...sessionRows,
} as const;

/**
 * The name of a structure.
 *
 * Source: nexo Sale to POI 3.0, as {@link structures} holds it.
 *
 * @example
 * const name: StructureName = 'PaymentResult';
 */
export type StructureName = keyof typeof structures;

type NamedType<Name extends string> = Name extends FieldTypeName
  ? FieldTypeValue<Name>
  : Name extends keyof typeof closedSets
    ? ClosedValue<Name>
    : Name extends keyof typeof openSets
      ? OpenValue<Name>
      : Name extends StructureName
        ? Structure<Name>
        : never;

type Optional<Members> = {
  [Key in keyof Members]: Members[Key] extends `${string}?` | `${string}*` ? Key : never;
}[keyof Members];

type Member<Written> = Written extends `${infer Name}?`
  ? NamedType<Name>
  : Written extends `${infer Name}*` | `${infer Name}+`
    ? readonly NamedType<Name>[]
    : Written extends string
      ? NamedType<Written>
      : never;

/**
 * A structure as a program has it. Members that the table does not know may be there too; they are
 * kept and have no type.
 *
 * Source: nexo Sale to POI 3.0, as {@link structures} holds it.
 *
 * @example
 * const amounts: Structure<'AmountsReq'> = { Currency: 'EUR', RequestedAmount: 12.5 };
 */
export type Structure<Name extends StructureName> = {
  readonly [Key in Exclude<
    keyof (typeof structures)[Name],
    Optional<(typeof structures)[Name]>
  >]: Member<(typeof structures)[Name][Key]>;
} & {
  readonly [Key in Optional<(typeof structures)[Name]>]?: Member<(typeof structures)[Name][Key]>;
};
