/** Faults of chip and track data and of codes: a closed list of codes, and never a value. */

/**
 * The codes of {@link EmvError}.
 *
 * @example
 * emvErrorCodes.includes('tlv_truncated'); // true
 */
export const emvErrorCodes = [
  'hex_invalid',
  'tlv_truncated',
  'tlv_tag_invalid',
  'tlv_length_invalid',
  'tlv_too_large',
  'tlv_too_deep',
  'tlv_duplicate_tag',
  'object_invalid',
  'pan_missing',
  'expiry_missing',
  'track_invalid',
  'code_too_long',
  'code_format_unknown',
  'code_truncated',
  'code_object_invalid',
  'code_object_repeated',
  'code_object_missing',
  'code_check_sum_wrong',
] as const;

/**
 * One code of {@link EmvError}.
 *
 * @example
 * const code: EmvErrorCode = 'tlv_duplicate_tag';
 */
export type EmvErrorCode = (typeof emvErrorCodes)[number];

/**
 * Chip or track data that cannot be read. It contains code, tag and offset, and never a value.
 *
 * @param code - a code of {@link emvErrorCodes}
 * @param place - the tag in upper-case hexadecimal, and the offset in bytes where it is known
 * @example
 * try { parseChipData(hex); } catch (error) { if (error instanceof EmvError) log(error.code); }
 */
export class EmvError extends Error {
  readonly code: EmvErrorCode;
  readonly tag: string | undefined;
  readonly offset: number | undefined;

  constructor(code: EmvErrorCode, place: { tag?: string; offset?: number } = {}) {
    const tag = place.tag === undefined ? '' : ` tag ${place.tag}`;
    const offset = place.offset === undefined ? '' : ` at byte ${place.offset}`;
    super(`${code}${tag}${offset}`);
    this.name = 'EmvError';
    this.code = code;
    this.tag = place.tag;
    this.offset = place.offset;
  }
}
