// The one error this package throws: a closed code with a place, never a value.

/** Every code an {@link Iso8583Error} can carry; switch on it exhaustively. */
export const iso8583ErrorCodes = [
  'table_invalid',
  'mti_invalid',
  'bitmap_invalid',
  'message_truncated',
  'field_unknown',
  'length_invalid',
  'length_exceeded',
  'length_mismatch',
  'content_invalid',
  'padding_invalid',
  'trailing_bytes',
  'frame_length_invalid',
  'frame_check_invalid',
  'frame_too_large',
] as const;

/**
 * The closed union of error codes.
 *
 * - `table_invalid`: the dialect table contradicts itself (a fault of the program, found at compile)
 * - `mti_invalid`: the message type is not four digits
 * - `bitmap_invalid`: a hex text bitmap holds something else than hex digits
 * - `message_truncated`: the bytes end before the element does
 * - `field_unknown`: the dialect has no such data element
 * - `length_invalid`: a length indicator is not a number
 * - `length_exceeded`: a variable value is longer than the dialect permits
 * - `length_mismatch`: a fixed value has another length (encoding only)
 * - `content_invalid`: a character or nibble that the content class does not permit
 * - `padding_invalid`: the filler nibble of an odd BCD number is not the dialect's
 * - `trailing_bytes`: bytes are left after the last field of the bitmap
 * - `frame_length_invalid`: a frame begins with another value than a length, its length is shorter than
 *   its header, or STX or ETX is missing
 * - `frame_check_invalid`: the check byte (LRC) after a frame is wrong
 * - `frame_too_large`: a frame is above the limit of the reader or of the header
 */
export type Iso8583ErrorCode = (typeof iso8583ErrorCodes)[number];

/**
 * The only error thrown by this package. It names the code, the data element and the byte
 * offset, and never repeats what was found there: a message holds card data.
 *
 * @example
 * ```ts
 * try {
 *   dialect.decode(bytes);
 * } catch (error) {
 *   if (error instanceof Iso8583Error && error.code === 'message_truncated') close();
 *   else throw error;
 * }
 * ```
 */
export class Iso8583Error extends Error {
  override readonly name = 'Iso8583Error';
  /** The kind of fault. */
  readonly code: Iso8583ErrorCode;
  /** The data element: 0 the message type, 1 the bitmap, `undefined` outside of any. */
  readonly field: number | undefined;
  /** Byte offset of the element in the message read or written, `undefined` when there is none. */
  readonly offset: number | undefined;
  /** Of `table_invalid`: the mistake in the line of the field, and how to correct it. */
  readonly problem: string | undefined;

  /**
   * @param code what is wrong
   * @param field data element number, if it is in one
   * @param offset bytes from the start of the message or frame
   * @param problem of a table: the mistake, without its field
   */
  constructor(code: Iso8583ErrorCode, field?: number, offset?: number, problem?: string) {
    const position = field === undefined ? '' : ` in DE${field}`;
    super(`${code}${position}${offset === undefined ? '' : ` at byte ${offset}`}`);
    this.code = code;
    this.field = field;
    this.offset = offset;
    this.problem = problem;
  }
}

/** The error of a table; `problem` continues a sentence whose subject is the line of the field. */
export function tableError(field: number, problem: string): Iso8583Error {
  return new Iso8583Error('table_invalid', field, undefined, problem);
}
