/** Card data under a one-time key: DUKPT keys for data, CBC with an initialisation vector of zeros. */
import { aesWorkingKey, cipherOf, type WorkingAlgorithm, workingAlgorithmOf } from './aes-dukpt.ts';
import { decryptCbc, encryptCbc } from './block-ciphers.ts';
import { PinError } from './errors.ts';
import { readKsn } from './ksn.ts';
import { tdesWorkingKey } from './tdes-dukpt.ts';

/**
 * Data of one transaction and what its key comes from.
 *
 * @example
 * const request: DukptData = { baseKey, ksn: 'FFFF9876543210E00001', data };
 */
export type DukptData = {
  readonly baseKey: Uint8Array;
  readonly ksn: string;
  /** Of the working key; left out: the strongest that the base key may derive. */
  readonly algorithm?: WorkingAlgorithm;
  /** Whole blocks: of 8 bytes under TDES, of 16 under AES. */
  readonly data: Uint8Array;
};

/** The key of the way from the terminal: a host that answers uses another (X9.24-1:2009 A.4.1). */
function withDataKey<Result>(
  { baseKey, ksn: text, algorithm, data }: DukptData,
  use: (cipher: 'tdes' | 'aes', key: Uint8Array) => Result,
): Result {
  const ksn = readKsn(text);
  const working = workingAlgorithmOf(baseKey, ksn.scheme, algorithm);
  const cipher = cipherOf(working);
  if (data.length === 0 || data.length % (cipher === 'tdes' ? 8 : 16) !== 0) {
    throw new PinError('data_invalid');
  }
  const key =
    ksn.scheme === 'DukptTdes'
      ? tdesWorkingKey(baseKey, ksn, 'dataRequest')
      : aesWorkingKey(baseKey, ksn, 'dataEncrypt', working);
  try {
    return use(cipher, key);
  } finally {
    key.fill(0);
  }
}

/**
 * Encrypts data as a terminal does.
 *
 * @throws PinError `data_invalid`: no whole blocks; `ksn_invalid`, `key_invalid`
 * @example
 * encryptDukptData({ baseKey, ksn: 'FFFF9876543210E00001', data: padded });
 */
export function encryptDukptData(request: DukptData): Buffer {
  return withDataKey(request, (cipher, key) => encryptCbc(cipher, key, request.data));
}

/**
 * Decrypts data of a terminal. A wrong key is not detected: the caller
 * looks at what comes out.
 *
 * @returns the clear bytes with their fill, for the caller to overwrite
 * @throws PinError `data_invalid`: no whole blocks; `ksn_invalid`, `key_invalid`
 * @example
 * const clear = decryptDukptData({ baseKey, ksn: 'FFFF9876543210E00001', data });
 */
export function decryptDukptData(request: DukptData): Buffer {
  return withDataKey(request, (cipher, key) => decryptCbc(cipher, key, request.data));
}
