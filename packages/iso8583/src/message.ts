// The shape of a decoded message.

/**
 * The data elements of a message by number. A plain record: it is the fastest shape to build and
 * to read, and can be written as a literal. `undefined` means absent.
 *
 * Values are text: digits for `n`, `=` as the separator of track 2, upper-case hex for binary
 * fields. Fixed values have exactly their length; nothing is padded, cut or trimmed.
 */
export type Fields = { [field: number]: string | undefined };

/**
 * A message: its type and its data elements. Bit 1 and the bitmaps belong to the encoding and are
 * not part of it.
 *
 * @example
 * ```ts
 * const echo: Message = { mti: '0800', fields: { 7: '0420090613', 11: '900001', 70: '301' } };
 * ```
 */
export type Message = { mti: string; fields: Fields };
