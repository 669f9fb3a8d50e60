// Decrypts card data that a device encrypted. The same checks as for clear data apply.
import {
  Card,
  defined,
  type ErrorCode,
  type Instrument,
  ProblemError,
  throwFieldProblem,
  throwProblem,
} from '@switchyard/contract';
import { decodeTlv, EmvError } from '@switchyard/emv';
import { Check } from 'typebox/schema';
import { parseStrictJson } from '../../http/index.ts';
import { type Hsm, HsmError, type HsmErrorCode } from '../../vault/index.ts';

type EncryptedInstrument = NonNullable<Instrument['encrypted']>;
type ClearInstrument = Pick<Instrument, 'card' | 'emvData' | 'track2'>;

export const clearMemberByKind = { Card: 'card', Emv: 'emvData', Track2: 'track2' } as const;

const pointer = '/instrument/encrypted';

/** The same error for every fault, so that it does not help an attacker to guess. */
function throwInvalidCardData(): never {
  const detail = 'The encrypted data cannot be decrypted or has an invalid format.';
  return throwFieldProblem('encrypted_data_invalid', pointer, detail);
}

/**
 * The code of an error that the HSM has returned.
 *
 * @throws ProblemError hsm_unavailable; any other error as it is
 */
export function hsmErrorCode(error: unknown): HsmErrorCode {
  if (!(error instanceof HsmError)) throw error;
  if (error.code !== 'HsmBusy' && error.code !== 'HsmUnavailable') return error.code;
  return throwProblem('hsm_unavailable', 'The HSM is not available. No message was sent.');
}

const keyErrorCodes: readonly HsmErrorCode[] = ['KeyNotFound', 'KeyUsage', 'KsnInvalid'];

function throwHsmProblem(error: unknown): never {
  if (!keyErrorCodes.includes(hsmErrorCode(error))) return throwInvalidCardData();
  const detail = 'No data encryption key for this KSN exists.';
  return throwFieldProblem('encryption_key_unknown', `${pointer}/ksn`, detail);
}

/** Padding is zeros, with an optional 80 before them (ISO/IEC 9797-1). */
function removePadding(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  if (end > 0 && bytes[end - 1] === 0x80) end -= 1;
  return bytes.subarray(0, end);
}

function isTlv(bytes: Buffer): boolean {
  try {
    decodeTlv(bytes);
    return true;
  } catch (error) {
    if (error instanceof EmvError) return false;
    throw error;
  }
}

function parseCardJson(bytes: Buffer): ClearInstrument {
  try {
    const card = parseStrictJson(bytes);
    if (Check(Card, card)) return { card };
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
  }
  return throwInvalidCardData();
}

const trackCharacters = /^[;=?\dDFdf]+$/;

function toClearInstrument(kind: EncryptedInstrument['of'], bytes: Buffer): ClearInstrument {
  const unpadded = removePadding(bytes);
  if (kind === 'Card') return parseCardJson(unpadded);
  if (kind === 'Emv') {
    // An 80 at the end may be a value or padding.
    const objects = isTlv(bytes) ? bytes : unpadded;
    return { emvData: objects.toString('hex').toUpperCase() };
  }
  const track2 = unpadded.toString('latin1');
  return trackCharacters.test(track2) ? { track2 } : throwInvalidCardData();
}

/** @throws ProblemError encrypted_data_invalid, encryption_key_unknown, hsm_unavailable */
export async function decryptInstrument(
  decrypt: Hsm['decryptData'],
  { of: kind, scheme, ksn, keyId, data }: EncryptedInstrument,
): Promise<ClearInstrument> {
  const longKsn = ksn.length === 16 ? `FFFF${ksn}` : ksn;
  if ((longKsn.length === 24) !== (scheme === 'DukptAes')) {
    throwFieldProblem(
      'field_invalid',
      `${pointer}/ksn`,
      'The KSN length does not match the scheme.',
    );
  }
  const bytes = await decrypt({ scheme, ksn: longKsn, data, ...defined({ keyId }) }).catch(
    throwHsmProblem,
  );
  try {
    return toClearInstrument(kind, bytes);
  } finally {
    bytes.fill(0);
  }
}

const cardDataErrorCodes: readonly ErrorCode[] = [
  'card_number_invalid',
  'emv_data_invalid',
  'track_data_invalid',
];

/** Errors of decrypted card data get one code and point to the encrypted member. */
export function readAsEncrypted<Result>(
  kind: EncryptedInstrument['of'],
  read: () => Result,
): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const clearPointer = `/instrument/${clearMemberByKind[kind]}`;
    if (!error.errors?.some((each) => each.pointer.startsWith(clearPointer))) throw error;
    if (cardDataErrorCodes.includes(error.code)) return throwInvalidCardData();
    const errors = error.errors.map((each) => ({
      ...each,
      pointer: each.pointer.replace(/^\/instrument\/\w+/, pointer),
    }));
    return throwProblem(error.code, error.detail, { errors });
  }
}
