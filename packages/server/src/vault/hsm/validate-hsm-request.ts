// Validates HSM requests: their form, their keys, and the PCI rules for PIN block formats.
import { isTranslationAllowed, type PinBlockFormat, PinError, readKsn } from '@switchyard/pin';
import {
  type DataRequest,
  HsmError,
  type KeyAlgorithm,
  type KeyUsage,
  type PinFormat,
  type PinTranslationRequest,
} from './hsm-types.ts';
import {
  getWorkingKeyAlgorithm,
  type KeyEntry,
  type KeyTable,
  mayOrganizationUse,
} from './key-table.ts';

const hexPattern = /^(?:[0-9A-F]{2})+$/i;
const panPattern = /^[0-9]{12,19}$/;
const dataBytesMax = 4096;
const checkDigitsMin = 4;

export const toPinBlockFormat = (format: PinFormat): PinBlockFormat => `ISO${format}`;

const accountDigits = 12;

/**
 * The twelve digits before the check digit. The shortest numbers get a leading zero, as in the PIN
 * block.
 */
export const getTwelveAccountDigits = (pan: string): string =>
  pan.slice(0, -1).slice(-accountDigits).padStart(accountDigits, '0');

export function parseHex(text: string, code: 'PinBlockInvalid' | 'DataInvalid'): Buffer {
  if (!hexPattern.test(text)) throw new HsmError(code);
  return Buffer.from(text, 'hex');
}

/** @throws HsmError `KsnInvalid` if the serial number does not belong to this scheme */
function parseKsn(ksn: string, scheme: string): { text: string; device: string } {
  try {
    const { scheme: ownScheme, device, bytes } = readKsn(ksn);
    if (ownScheme !== scheme) throw new HsmError('KsnInvalid');
    return { text: Buffer.from(bytes).toString('hex').toUpperCase(), device };
  } catch (error) {
    if (error instanceof PinError) throw new HsmError('KsnInvalid');
    throw error;
  }
}

/** @throws HsmError `KeyNotFound` if there is none, `KeyUsage` if all have another purpose */
export function requireUsage(entries: readonly KeyEntry[], usage: KeyUsage): KeyEntry {
  if (entries.length === 0) throw new HsmError('KeyNotFound');
  const entry = entries.find((each) => each.usage === usage);
  if (entry === undefined) throw new HsmError('KeyUsage');
  return entry;
}

/** @throws HsmError `KeyNotFound`, `KeyUsage` */
export function requireKey(table: KeyTable, name: string, usage: KeyUsage): KeyEntry {
  const entry = table.findByName(name);
  return requireUsage(entry === undefined ? [] : [entry], usage);
}

export type DecryptionKey = {
  readonly entry: KeyEntry /** Only for DUKPT. */;
  readonly ksn?: string;
};

const baseAlgorithm = { DukptTdes: 'Tdes', DukptAes: 'Aes' } as const;

type Request = PinTranslationRequest | DataRequest;

const isDukpt = (request: Request): request is Extract<Request, { ksn: string }> =>
  request.scheme === 'DukptTdes' || request.scheme === 'DukptAes';

/** The key that encrypts the PIN block or data of the request. */
export function findDecryptionKey(table: KeyTable, request: Request): DecryptionKey {
  if (!isDukpt(request)) {
    const usage = request.scheme === 'ZoneKey' ? 'ZonePin' : 'TerminalPin';
    return { entry: requireKey(table, request.keyId, usage) };
  }
  const { text, device } = parseKsn(request.ksn, request.scheme);
  const entry =
    request.keyId === undefined
      ? table.findByDevice(device)
      : requireKey(table, request.keyId, 'BaseDerivation');
  // A device without a key is treated as an invalid serial number.
  if (entry === undefined) throw new HsmError('KsnInvalid');
  // The same error hides that the device belongs to another organisation.
  if (!mayOrganizationUse(entry, request.organizationId)) throw new HsmError('KsnInvalid');
  if (entry.algorithm !== baseAlgorithm[request.scheme]) throw new HsmError('KsnInvalid');
  return { entry, ksn: text };
}

/** The cipher under a key; for a base derivation key it is the cipher of its working keys. */
function getCipher(entry: KeyEntry): KeyAlgorithm {
  if (entry.usage !== 'BaseDerivation') return entry.algorithm;
  return getWorkingKeyAlgorithm(entry).startsWith('AES') ? 'Aes' : 'Tdes';
}

/** In bytes. */
export const getBlockLength = (entry: KeyEntry): number => (getCipher(entry) === 'Aes' ? 16 : 8);

/** Format 4 uses AES, and the other formats use TDES. */
const fitsAlgorithm = (format: PinFormat, algorithm: KeyAlgorithm): boolean =>
  (format === 4) === (algorithm === 'Aes');

/**
 * Checks the formats against PCI PIN Security 3.1, requirement 3-3, and against the keys. Checks
 * the form of the block and the card number.
 *
 * @returns the encrypted block
 * @throws HsmError `FormatNotAllowed`, `PanMismatch`, `PinBlockInvalid`
 */
export function requireValidTranslation(
  request: PinTranslationRequest,
  decryptionKey: KeyEntry,
  encryptionKey: Pick<KeyEntry, 'algorithm'>,
): Buffer {
  const { inFormat, outFormat, pan, pinBlock } = request;
  if (!isTranslationAllowed(toPinBlockFormat(inFormat), toPinBlockFormat(outFormat))) {
    throw new HsmError('FormatNotAllowed');
  }
  if (
    !fitsAlgorithm(inFormat, getCipher(decryptionKey)) ||
    !fitsAlgorithm(outFormat, encryptionKey.algorithm)
  ) {
    throw new HsmError('FormatNotAllowed');
  }
  if (!panPattern.test(pan)) throw new HsmError('PanMismatch');
  const block = parseHex(pinBlock, 'PinBlockInvalid');
  if (block.length !== (inFormat === 4 ? 16 : 8)) throw new HsmError('PinBlockInvalid');
  return block;
}

/** @throws HsmError `DataInvalid` */
export function requireValidData({ data }: DataRequest, decryptionKey: KeyEntry): Buffer {
  const bytes = parseHex(data, 'DataInvalid');
  if (bytes.length % getBlockLength(decryptionKey) !== 0 || bytes.length > dataBytesMax) {
    throw new HsmError('DataInvalid');
  }
  return bytes;
}

/** @throws HsmError `DataInvalid` if the sender's check value differs */
export function requireCheckValue(received: string | undefined, computed: string): void {
  if (received === undefined) return;
  // Hosts send four, six or sixteen digits of the same value.
  const digits = Math.min(received.length, computed.length);
  if (
    digits < checkDigitsMin ||
    received.toUpperCase().slice(0, digits) !== computed.slice(0, digits)
  ) {
    throw new HsmError('DataInvalid', 'the check value differs');
  }
}
