// Opens card data that the device encrypted: what comes out is judged like clear data of its kind.
import {
  Card,
  defined,
  type ErrorCode,
  type Instrument,
  Refusal,
  refuse,
} from '@switchyard/contract';
import { decodeTlv, EmvError } from '@switchyard/emv';
import { Check } from 'typebox/schema';
import { parseStrictJson } from '../../http/index.ts';
import { type Hsm, HsmError } from '../../vault/index.ts';

type Encrypted = NonNullable<Instrument['encrypted']>;
type Clear = Pick<Instrument, 'card' | 'emvData' | 'track2'>;

/** What an encrypted instrument stands in for. */
export const clearKindOf = { Card: 'card', Emv: 'emvData', Track2: 'track2' } as const;

const pointer = '/instrument/encrypted';

function refuseWith(code: ErrorCode, detail: string, member = ''): never {
  return refuse(code, detail, { errors: [{ pointer: pointer + member, code, detail }] });
}

/** One answer for whatever is wrong with the data: a finer one would help to guess at it. */
function refuseData(): never {
  return refuseWith('encrypted_data_invalid', 'It does not decrypt to what it is said to hold.');
}

function refuseFault(error: unknown): never {
  if (!(error instanceof HsmError)) throw error;
  switch (error.code) {
    case 'HsmBusy':
    case 'HsmUnavailable':
      return refuse('hsm_unavailable', 'The card data could not be decrypted; nothing was sent.');
    case 'KeyNotFound':
    case 'KeyUsage':
    case 'KsnInvalid':
      return refuseWith('encryption_key_unknown', 'There is no such key for data.', '/ksn');
    default:
      return refuseData();
  }
}

/** Without the padding at its end: zeros, and the 80 that may stand before them (ISO/IEC 9797-1). */
function unpadded(bytes: Buffer): Buffer {
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

function cardIn(bytes: Buffer): Clear {
  let card: unknown;
  try {
    card = parseStrictJson(unpadded(bytes));
  } catch (error) {
    if (error instanceof Refusal) return refuseData();
    throw error;
  }
  return Check(Card, card) ? { card } : refuseData();
}

const trackCharacters = /^[;=?\dDFdf]+$/;

function clearOf(kind: Encrypted['of'], bytes: Buffer): Clear {
  switch (kind) {
    case 'Card':
      return cardIn(bytes);
    case 'Emv': {
      // Zeros between objects mean nothing, but an 80 at the end may be a value or padding.
      const objects = isTlv(bytes) ? bytes : unpadded(bytes);
      return { emvData: objects.toString('hex').toUpperCase() };
    }
    default: {
      const track2 = unpadded(bytes).toString('latin1');
      return trackCharacters.test(track2) ? { track2 } : refuseData();
    }
  }
}

/**
 * The instrument that an encrypted one stands in for.
 *
 * @throws Refusal encrypted_data_invalid, encryption_key_unknown, hsm_unavailable
 */
export async function decrypted(
  decrypt: Hsm['decryptData'],
  { of: kind, scheme, ksn, keyId, data }: Encrypted,
): Promise<Clear> {
  const longKsn = ksn.length === 16 ? `FFFF${ksn}` : ksn;
  if ((longKsn.length === 24) !== (scheme === 'DukptAes')) {
    refuseWith('field_invalid', 'The serial number is not one of this scheme.', '/ksn');
  }
  const named = defined({ keyId });
  const bytes = await decrypt({ scheme, ksn: longKsn, data, ...named }).catch(refuseFault);
  try {
    return clearOf(kind, bytes);
  } finally {
    bytes.fill(0);
  }
}

const unreadable: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'card_number_invalid',
  'emv_data_invalid',
  'track_data_invalid',
]);

/** Faults of what was decrypted are told as one, and at the place where it came from. */
export function asEncrypted<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (unreadable.has(error.code)) return refuseData();
    const errors = error.errors?.map((each) => ({
      ...each,
      pointer: each.pointer.replace(/^\/instrument\/\w+/, pointer),
    }));
    return refuse(error.code, error.detail, { errors });
  }
}
