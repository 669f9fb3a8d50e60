// Defines the interface of the hardware security module for all vendors (ADR 0030).
import { defined } from '@switchyard/contract';

export type DukptScheme = 'DukptTdes' | 'DukptAes';

/** The PIN block formats of ISO 9564-1 by number. */
export type PinFormat = 0 | 1 | 3 | 4;
/** The format for an acquirer. Format 1 is excluded, because it does not bind the card number. */
export type OutPinFormat = Exclude<PinFormat, 1>;

type PinBlockKey =
  | {
      scheme: DukptScheme;
      /** The name of the base derivation key; if missing, the serial number determines it. */
      keyId?: string;
      ksn: string;
    }
  /** A key that the platform shares with a terminal or another zone. */
  | { scheme: 'TerminalKey' | 'ZoneKey'; keyId: string };

export type PinTranslationRequest = PinBlockKey & {
  /** The organisation of the request; a key of other organisations is refused. */
  organizationId?: string;
  inFormat: PinFormat;
  /** Hexadecimal. */
  pinBlock: string;
  pan: string;
  /** The acquirer's zone PIN key. */
  outKeyRef: string;
  outFormat: OutPinFormat;
};

export type DataRequest = {
  /** The organisation of the request, as for a PIN. */
  organizationId?: string;
  scheme: DukptScheme;
  /** The name of the base derivation key, as for a PIN block. */
  keyId?: string;
  ksn: string;
  /** Hexadecimal, in whole blocks. */
  data: string;
};

export type MacAlgorithm = 'AesCmac' | 'Iso9797Alg3';
export type MacRequest = { keyRef: string; algorithm: MacAlgorithm; data: Buffer };

export type KeyAlgorithm = 'Tdes' | 'Aes';
/** Each key has one purpose. */
export const keyUsages = [
  'BaseDerivation',
  'KeyEncryption',
  'TerminalPin',
  'ZonePin',
  'Mac',
] as const;
export type KeyUsage = (typeof keyUsages)[number];

export type KeyImport = {
  wrappingKeyRef: string;
  /** Hexadecimal: the key, encrypted under the zone master key. */
  wrapped: string;
  /** The check value from the sender; a different one is refused. */
  checkValue?: string;
  usage: 'ZonePin' | 'Mac';
  algorithm: KeyAlgorithm;
};

export type KeyFacts = { checkValue: string; usage: KeyUsage; algorithm: KeyAlgorithm };

/**
 * A hardware security module. A `keyRef` is the name of a key in its table, or the result of
 * `importKey`; the caller may store both. Every fault is an {@link HsmError}.
 */
export type Hsm = {
  translatePin(
    request: PinTranslationRequest,
  ): Promise<{ pinBlock: string; outFormat: OutPinFormat }>;
  /** Decrypts card data of a device; the caller zeroes the returned buffer. */
  decryptData(request: DataRequest): Promise<Buffer>;
  mac(request: MacRequest): Promise<Buffer>;
  /** Imports a key that is wrapped under another key. */
  importKey(request: KeyImport): Promise<{ keyRef: string; checkValue: string }>;
  checkKey(keyRef: string): Promise<KeyFacts>;
  /**
   * Whether an organisation's link may name the key for this purpose; only keys of the table count.
   */
  mayUse(keyRef: string, usage: KeyUsage, organizationId: string): boolean;
  health(): Promise<'up' | 'degraded' | 'down'>;
  close(): Promise<void>;
};

/**
 * An HSM before its first use: `start` compares the check values of its keys and refuses wrong
 * ones.
 */
export type StartableHsm = Hsm & { start(): Promise<void> };

/**
 * - `PinBlockInvalid`: the block does not decrypt to a PIN; the error never gives the reason
 * - `KsnInvalid`: the serial number is malformed, or belongs to no known device
 * - `KeyNotFound`, `KeyUsage`: the key does not exist; the key has another purpose
 * - `FormatNotAllowed`: the combination of formats and schemes is forbidden
 * - `PanMismatch`: the card number is invalid, or the block is bound to another one
 * - `DataInvalid`: the data to decrypt or import is malformed
 * - `HsmBusy`, `HsmUnavailable`: the HSM did nothing; a retry may succeed
 * - `Unsupported`: this type of HSM does not support the operation
 */
export type HsmErrorCode =
  | 'PinBlockInvalid'
  | 'KsnInvalid'
  | 'KeyNotFound'
  | 'KeyUsage'
  | 'FormatNotAllowed'
  | 'PanMismatch'
  | 'DataInvalid'
  | 'HsmBusy'
  | 'HsmUnavailable'
  | 'Unsupported';

/** The message has the code and a detail, and never a key, a PIN, a PIN block or a card number. */
export class HsmError extends Error {
  override name = 'HsmError';
  readonly code: HsmErrorCode;

  constructor(code: HsmErrorCode, detail?: string, cause?: unknown) {
    super(detail === undefined ? code : `${code}: ${detail}`, defined({ cause }));
    this.code = code;
  }
}
