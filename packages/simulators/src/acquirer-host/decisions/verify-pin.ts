// Verifies the PIN of a request as an issuer does: decrypts the block with the zone key and compares the digits.
import { openPinBlock, type PinBlockFormat, PinError, readPinBlock } from '@switchyard/pin';

/** The PIN of every card of the simulator. */
const correctPin = '1234';

const WRONG_PIN = '55';
const NOT_VERIFIABLE = '86';

const formats: Readonly<Record<string, PinBlockFormat>> = {
  '00': 'ISO0',
  '03': 'ISO3',
  '04': 'ISO4',
};

/** The PIN fields of a request. */
export type PinRequest = {
  /** The block, hexadecimal: 8 bytes, of format 4 16. */
  readonly de52: string;
  /** Its first two digits are the format. */
  readonly de53: string | undefined;
  /** Card number; PIN block formats include it. */
  readonly pan: string;
  /** The zone PIN key agreed with the sender, or undefined. */
  readonly key: Uint8Array | undefined;
};

/**
 * The response code (DE39) for a PIN, or undefined where the PIN is correct.
 *
 * @example
 * ```ts
 * pinVerdict({ de52, de53: '0001000000000000', pan, key }); // undefined for 1234, '55' for another
 * ```
 */
export function verifyPin({ de52, de53, pan, key }: PinRequest): '55' | '86' | undefined {
  const format = formats[de53?.slice(0, 2) ?? ''];
  if (key === undefined || format === undefined) return NOT_VERIFIABLE;
  try {
    const opened = openPinBlock(format, key, Buffer.from(de52, 'hex'), pan);
    const digits = readPinBlock(format, opened, pan);
    const isCorrect = [...digits].join('') === correctPin;
    digits.fill(0);
    opened.fill(0);
    return isCorrect ? undefined : WRONG_PIN;
  } catch (error) {
    if (error instanceof PinError) return NOT_VERIFIABLE;
    throw error;
  }
}
