// The shape of a decoded message.
import type { OperationName } from './operation-names.ts';

/**
 * The data elements of a message by number. A plain record: it is the fastest shape to build and
 * to read, and can be written as a literal. `undefined` means absent.
 *
 * Values are text: digits for `n`, `=` as the separator of track 2, upper-case hex for binary
 * fields. Fixed values have exactly their length; nothing is padded, cut or trimmed.
 */
export type Fields = { [field: number]: string | undefined };

/**
 * The original of a capture, refund or reversal, beyond field 90: a host table selects from it. `sent` is the
 * time of field 90, `date` (MMDD) and `time` (hhmmss) are those of the store, `amount` has twelve digits.
 *
 * @example
 * ```ts
 * const original: OriginalMessage = { rrn: '632602000001', approval: 'A1B2C3' };
 * ```
 */
export type OriginalMessage = {
  readonly [part in
    | 'type'
    | 'stan'
    | 'sent'
    | 'rrn'
    | 'approval'
    | 'date'
    | 'time'
    | 'terminal'
    | 'amount']?: string;
};

/**
 * Data of a payment that has no field of its own. The names up to `orderId` are those of requests; a response has
 * the others: the text for the receipt, the reference of the card scheme, and the balance.
 *
 * @example
 * ```ts
 * const data: PaymentData = { merchantName: 'Bakery', orderId: '4711' };
 * ```
 */
export type PaymentData = { readonly [name in PaymentDataName]?: string };

/**
 * The names of {@link PaymentData}.
 *
 * @example
 * ```ts
 * const name: PaymentDataName = 'orderId';
 * ```
 */
export type PaymentDataName =
  | 'merchantName'
  | 'merchantAddress'
  | 'orderId'
  | 'receiptText'
  | 'networkReference'
  | 'balance';

/**
 * A message: its type and its data elements. Bit 1 and the bitmaps belong to the encoding and are
 * not part of it.
 *
 * @example
 * ```ts
 * const echo: Message = { mti: '0800', fields: { 7: '0420090613', 11: '900001', 70: '301' } };
 * ```
 */
export type Message = {
  mti: string;
  fields: Fields;
  /** Of a capture, refund or reversal. */
  original?: OriginalMessage;
  /** Values for the member `contents` of a host table. */
  data?: PaymentData;
  /** Of a decoded request whose host table has its own operations: the answer has it too. */
  operation?: MessageOperation;
};

/**
 * The operation of a message in a host table, and the processing code of the host.
 *
 * @example
 * ```ts
 * const operation: MessageOperation = { name: 'void', processingCode: '020000' };
 * ```
 */
export type MessageOperation = {
  readonly name: OperationName;
  readonly processingCode: string | undefined;
};
