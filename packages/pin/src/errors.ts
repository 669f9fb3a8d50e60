/** Faults of keys, serial numbers and PIN blocks: a closed list of codes, and never a value. */

/**
 * The codes of {@link PinError}.
 *
 * - `key_invalid`: the key has a length that its algorithm does not know
 * - `ksn_invalid`: the key serial number has a wrong length, or a counter no device produces
 * - `pan_invalid`: the format binds the card number, and there is none of 8 to 19 digits
 * - `pin_invalid`: a PIN to encode is not 4 to 12 digits
 * - `pin_block_invalid`: the block contains no valid PIN; the reason is not reported (PCI PIN, an oracle else)
 * - `data_invalid`: the data does not consist of whole blocks
 * - `format_not_allowed`: PCI PIN Security 3.1, requirement 3-3, or the cipher forbids the change
 *
 * @example
 * pinErrorCodes.includes('ksn_invalid'); // true
 */
export const pinErrorCodes = [
  'key_invalid',
  'ksn_invalid',
  'pan_invalid',
  'pin_invalid',
  'pin_block_invalid',
  'data_invalid',
  'format_not_allowed',
] as const;

/**
 * One code of {@link PinError}.
 *
 * @example
 * const code: PinErrorCode = 'pin_block_invalid';
 */
export type PinErrorCode = (typeof pinErrorCodes)[number];

/**
 * The error of every function of this package. The message is the code alone: neither a PIN, nor a
 * key, nor a block is ever in it.
 *
 * @param code - a code of {@link pinErrorCodes}
 * @example
 * try { translatePin(request); } catch (error) { if (error instanceof PinError) decline(error.code); }
 */
export class PinError extends Error {
  override readonly name = 'PinError';
  readonly code: PinErrorCode;

  constructor(code: PinErrorCode) {
    super(code);
    this.code = code;
  }
}
