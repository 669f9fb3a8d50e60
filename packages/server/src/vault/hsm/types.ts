// The port of the hardware security module: what the platform asks of it, whoever made it (ADR 0030).
import { defined } from '@switchyard/contract';

export type DukptScheme = 'DukptTdes' | 'DukptAes';

/** The formats of ISO 9564-1 by number. */
export type PinFormat = 0 | 1 | 3 | 4;
/** What an acquirer is sent: format 1 does not bind the card number, so nothing becomes it. */
export type OutPinFormat = Exclude<PinFormat, 1>;

type BlockUnderKey =
  | {
      scheme: DukptScheme;
      /** The base derivation key by name; left out: the one whose devices this serial number is of. */
      keyId?: string;
      ksn: string;
    }
  /** A key that a terminal, or another zone, shares with us. */
  | { scheme: 'TerminalKey' | 'ZoneKey'; keyId: string };

export type PinTranslationRequest = BlockUnderKey & {
  /** Whose request it is: a key that is kept for some organisations serves no other. */
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
  /** As of a PIN. */
  organizationId?: string;
  scheme: DukptScheme;
  /** As of a PIN block: left out, the one whose devices the serial number is of. */
  keyId?: string;
  ksn: string;
  /** Hexadecimal, whole blocks. */
  data: string;
};

export type MacAlgorithm = 'AesCmac' | 'Iso9797Alg3';
export type MacRequest = { keyRef: string; algorithm: MacAlgorithm; data: Buffer };

export type KeyAlgorithm = 'Tdes' | 'Aes';
/** One key has one purpose. */
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
  /** Hexadecimal: the key under the zone master key. */
  wrapped: string;
  /** What the sender says the check value is; another one is refused. */
  checkValue?: string;
  usage: 'ZonePin' | 'Mac';
  algorithm: KeyAlgorithm;
};

export type KeyFacts = { checkValue: string; usage: KeyUsage; algorithm: KeyAlgorithm };

/**
 * A hardware security module. A `keyRef` is the name of a key of its table, or the text that
 * `importKey` answered; both may be stored. Every fault is an {@link HsmError}.
 */
export type Hsm = {
  translatePin(
    request: PinTranslationRequest,
  ): Promise<{ pinBlock: string; outFormat: OutPinFormat }>;
  /** Card data of a device: the clear bytes come in a buffer that the caller zeroes. */
  decryptData(request: DataRequest): Promise<Buffer>;
  mac(request: MacRequest): Promise<Buffer>;
  /** A key that came wrapped under another. */
  importKey(request: KeyImport): Promise<{ keyRef: string; checkValue: string }>;
  checkKey(keyRef: string): Promise<KeyFacts>;
  /** Whether a link of this organisation may name the key for this purpose: only one of the table. */
  mayUse(keyRef: string, usage: KeyUsage, organizationId: string): boolean;
  health(): Promise<'up' | 'degraded' | 'down'>;
  close(): Promise<void>;
};

/** An HSM before it is used: `start` compares the check values of its keys, and refuses a wrong one. */
export type OpenableHsm = Hsm & { start(): Promise<void> };

/**
 * - `PinBlockInvalid`: the block does not open to a PIN; why is never told
 * - `KsnInvalid`: no serial number, or one of no device that is known here
 * - `KeyNotFound`, `KeyUsage`: no such key; a key for something else
 * - `FormatNotAllowed`: the pairing of formats and schemes is forbidden
 * - `PanMismatch`: the card number is none, or not the one that the block is bound to
 * - `DataInvalid`: what is to be decrypted or imported is not in shape
 * - `HsmBusy`, `HsmUnavailable`: nothing was done; later it may work
 * - `Unsupported`: this kind of module cannot do it
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

/** The message names the code and what the module said, never a key, a PIN, a block or a card. */
export class HsmError extends Error {
  override name = 'HsmError';
  readonly code: HsmErrorCode;

  constructor(code: HsmErrorCode, detail?: string, cause?: unknown) {
    super(detail === undefined ? code : `${code}: ${detail}`, defined({ cause }));
    this.code = code;
  }
}
