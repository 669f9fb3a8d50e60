/** The chip data of a sale: the card, the data for the acquirer, the data for the receipt. */

import { isCalendarDay } from './calendar-day.ts';
import {
  type ChipObjects,
  checkLength,
  findObject,
  hexIn,
  readChipObjects,
  tagRows,
} from './chip-objects.ts';
import { alwaysTags } from './emv-tags.ts';
import { EmvError } from './errors.ts';
import { redactPans } from './pan.ts';
import { objectText, valueText } from './tlv-reader.ts';
import { parseTrack2, type Track2 } from './track2.ts';

/**
 * The chip's part of a receipt, each as upper-case hexadecimal but for the label and the method.
 *
 * Source: EMV 4.4 Book 4, 11.4 (receipt).
 *
 * @example
 * const receipt: ChipReceipt = { applicationId: 'A0000000031010', applicationLabel: 'VISA' };
 */
export type ChipReceipt = {
  applicationId?: string;
  applicationLabel?: string;
  cryptogram?: string;
  cryptogramInformation?: string;
  terminalVerificationResults?: string;
  transactionStatusInformation?: string;
  authorizationResponseCode?: string;
  cardholderVerification?: 'PinVerified' | 'Signature' | 'OnDevice' | 'None';
};

/**
 * The codes of {@link checkChipData}: the value that differs.
 *
 * @example
 * const mismatch: ChipMismatch = 'emv_amount_mismatch';
 */
export type ChipMismatch =
  | 'emv_amount_mismatch'
  | 'emv_other_amount_mismatch'
  | 'emv_currency_mismatch'
  | 'emv_interface_mismatch'
  | 'emv_pan_mismatch'
  | 'emv_expiry_mismatch';

/**
 * Data that was read from a chip. `pan` and `track2` are card data: never stored or logged
 * in clear; `forDe55` and `receipt` hold none.
 *
 * @example
 * const { pan, expiry, forDe55 }: ChipData = parseChipData(emvData);
 */
export type ChipData = {
  readonly pan: string;
  /** YYMM. */
  readonly expiry: string;
  /** In the form of data element 35. */
  readonly track2?: string;
  readonly serviceCode?: string;
  /** Two digits of tag 5F34. */
  readonly panSequence?: string;
  /** The objects that go into data element 55: canonical BER-TLV, upper-case hexadecimal. */
  readonly forDe55: string;
  readonly receipt: ChipReceipt;
  /** A device that taps has verified its holder itself; without meaning for a contact chip. */
  readonly verifiedOnDevice: boolean;
  /** Objects that only a contactless reader makes. */
  readonly isContactless: boolean;
  /** Tag 9F02, in minor units. */
  readonly amount?: number;
  /** Tag 9F03, in minor units. */
  readonly otherAmount?: number;
  /** Tag 5F2A: three digits. */
  readonly currency?: string;
  /** Tag 9A: YYMMDD, the date at the terminal. */
  readonly date?: string;
  /** Tag 9F27: decline, approval offline, or a request to go online. */
  readonly cryptogramKind?: 'AAC' | 'TC' | 'ARQC';
  /** Tags that every chip sale carries and that this one lacks. */
  readonly missing: readonly string[];
  /** Where the objects contradict each other. */
  readonly contradictions: readonly ChipMismatch[];
};

/** The digits of a numeric object. */
function digitsIn(leaves: ChipObjects, tag: string): string | undefined {
  const hex = hexIn(leaves, tag);
  if (hex !== undefined && !/^\d+$/.test(hex)) throw new EmvError('object_invalid', { tag });
  return hex;
}

/** The card number of tag 5A: digits, padded with F. */
function panIn(leaves: ChipObjects): string | undefined {
  const hex = hexIn(leaves, '5A');
  if (hex === undefined) return undefined;
  const pan = hex.replace(/F+$/, '');
  if (!/^\d{12,19}$/.test(pan)) throw new EmvError('object_invalid', { tag: '5A' });
  return pan;
}

/** YYMM of tag 5F24. */
function expiryIn(leaves: ChipObjects): string | undefined {
  const digits = digitsIn(leaves, '5F24');
  if (digits !== undefined && !/^\d{2}(?:0[1-9]|1[0-2])/.test(digits)) {
    throw new EmvError('object_invalid', { tag: '5F24' });
  }
  return digits?.slice(0, 4);
}

/** YYMMDD of tag 9A: a day of the calendar. */
function dateIn(leaves: ChipObjects): string | undefined {
  const digits = digitsIn(leaves, '9A');
  if (digits === undefined) return undefined;
  const text = `20${digits.slice(0, 2)}-${digits.slice(2, 4)}-${digits.slice(4)}`;
  if (!isCalendarDay(text)) throw new EmvError('object_invalid', { tag: '9A' });
  return digits;
}

function trackIn(leaves: ChipObjects) {
  const hex = hexIn(leaves, '57');
  if (hex === undefined) return undefined;
  try {
    return parseTrack2(hex);
  } catch {
    throw new EmvError('object_invalid', { tag: '57' });
  }
}

/**
 * Printable characters without card numbers, because chip text is printed on receipts and returned
 * in responses.
 */
function printable(hex: string | undefined): string | undefined {
  if (hex === undefined) return undefined;
  const text = Buffer.from(hex, 'hex').toString('latin1');
  return redactPans(text.replace(/[^\x20-\x7e]/g, '').trim());
}

/** Byte 3 of the results: the method that byte 1 names has failed. */
const failedVerification = '01';

/** Byte 1 of tag 9F34, without the bit that says what follows where it fails. */
const methodOf = (results: string) => Number.parseInt(results.slice(0, 2), 16) & 0x3f;

/** Plaintext PIN checked by the chip: no tap can do that, so there it means the device itself. */
const onDeviceMethod = 0x01;
/** Byte 2, bit 8 of the card transaction qualifiers. */
const onDeviceQualifier = 0x0080;

function isOnDevice(leaves: ChipObjects): boolean {
  const results = hexIn(leaves, '9F34');
  if (results !== undefined && methodOf(results) === onDeviceMethod) return true;
  const qualifiers = hexIn(leaves, '9F6C');
  return (Number.parseInt(qualifiers ?? '0', 16) & onDeviceQualifier) !== 0;
}

function verificationOf(results: string | undefined): ChipReceipt['cardholderVerification'] {
  if (results === undefined) return undefined;
  if (results.slice(4) === failedVerification) return 'None';
  const method = methodOf(results);
  if (method === 0x03 || method === 0x05 || method === 0x1e) return 'Signature';
  if (method === 0x01 || method === 0x02 || method === 0x04) return 'PinVerified';
  return 'None';
}

function receiptOf(leaves: ChipObjects): ChipReceipt {
  // The preferred name counts where its characters are of the first part of ISO 8859.
  const index = findObject(leaves, '9F11');
  const isLatin = index !== undefined && valueText(leaves.text, index).startsWith('01');
  const preferred = isLatin ? printable(hexIn(leaves, '9F12')) : undefined;
  return withoutUndefined({
    applicationId: hexIn(leaves, '84') ?? hexIn(leaves, '9F06'),
    applicationLabel: preferred || printable(hexIn(leaves, '50')) || undefined,
    cryptogram: hexIn(leaves, '9F26'),
    cryptogramInformation: hexIn(leaves, '9F27'),
    terminalVerificationResults: hexIn(leaves, '95'),
    transactionStatusInformation: hexIn(leaves, '9B'),
    authorizationResponseCode: printable(hexIn(leaves, '8A')) || undefined,
    cardholderVerification: verificationOf(hexIn(leaves, '9F34')),
  });
}

/** With every object at its longest this stays within the 255 bytes of data element 55. */
function de55Of({ text, positions: places }: ChipObjects): string {
  let objects = '';
  for (const position of places) {
    if (tagRows.get(position.tag)?.destination !== 'Acquirer') continue;
    checkLength(position);
    objects += objectText(text, position);
  }
  return objects;
}

/** Bits 8 and 7 of the cryptogram information data. */
const cryptogramKinds = ['AAC', 'TC', 'ARQC'] as const;

function cryptogramKindOf(information: string | undefined): ChipData['cryptogramKind'] {
  return information === undefined
    ? undefined
    : cryptogramKinds[Number.parseInt(information, 16) >> 6];
}

type Present<Type> = { [Key in keyof Type]?: Exclude<Type[Key], undefined> };

/** A record without its undefined members. */
function withoutUndefined<Type extends object>(record: Type): Present<Type> {
  const present: Partial<Type> = {};
  for (const name in record) {
    if (record[name] !== undefined) present[name] = record[name];
  }
  return present as Present<Type>;
}

/**
 * Reads the data of a chip sale. The card comes from tag 57 or 5A, the expiry from 57 or 5F24.
 * Templates are read into; a repeated tag is an error; tags that are not in the table are
 * left out of everything.
 *
 * @param hex - BER-TLV in hexadecimal, at most 4096 bytes
 * @param presentedTrack - track 2 that was read beside the objects; needed when they name no card
 * @returns the card, the objects for data element 55 and for the receipt, and what was signed
 * @throws EmvError with a code of `emvErrorCodes`; never with a value
 * @example
 * const chip = parseChipData('5A0841111111111111115F24033012319F02060000000010505F2A020978');
 * chip.amount; // 1050
 */
export function parseChipData(hex: string, presentedTrack?: Track2): ChipData {
  const leaves = readChipObjects(hex);
  const track = trackIn(leaves) ?? presentedTrack;
  const plainPan = panIn(leaves);
  const plainExpiry = expiryIn(leaves);
  const pan = plainPan ?? track?.pan;
  const expiry = plainExpiry ?? track?.expiry;
  if (pan === undefined) throw new EmvError('pan_missing');
  if (expiry === undefined) throw new EmvError('expiry_missing');
  const contradictions: ChipMismatch[] = [];
  const tracks = [track, presentedTrack].filter((each) => each !== undefined);
  if (tracks.some((each) => each.pan !== pan)) contradictions.push('emv_pan_mismatch');
  if (tracks.some((each) => each.expiry !== expiry)) contradictions.push('emv_expiry_mismatch');
  const amount = digitsIn(leaves, '9F02');
  const otherAmount = digitsIn(leaves, '9F03');
  return {
    pan,
    expiry,
    forDe55: de55Of(leaves),
    receipt: receiptOf(leaves),
    verifiedOnDevice: isOnDevice(leaves),
    isContactless: findObject(leaves, '9F66') !== undefined,
    missing: alwaysTags.filter((tag) => findObject(leaves, tag) === undefined),
    contradictions,
    ...withoutUndefined({
      track2: track?.text,
      serviceCode: track?.serviceCode,
      panSequence: digitsIn(leaves, '5F34'),
      amount: amount === undefined ? undefined : Number(amount),
      otherAmount: otherAmount === undefined ? undefined : Number(otherAmount),
      currency: digitsIn(leaves, '5F2A')?.slice(1),
      date: dateIn(leaves),
      cryptogramKind: cryptogramKindOf(hexIn(leaves, '9F27')),
    }),
  };
}

/**
 * The chip data after the issuer's answer. It may name the card or leave it out.
 *
 * @example
 * const { cryptogramKind }: ChipOutcome = parseChipOutcome(emvData); // 'AAC': the chip declined
 */
export type ChipOutcome = {
  readonly pan?: string;
  /** YYMM. */
  readonly expiry?: string;
  /** The objects name two cards, or two dates of expiry. */
  readonly contradicts: boolean;
  /** The objects that go into data element 55: canonical BER-TLV, upper-case hexadecimal. */
  readonly forDe55: string;
  readonly cryptogramKind?: 'AAC' | 'TC' | 'ARQC';
};

/**
 * Reads the data of a chip after the second cryptogram.
 *
 * Source: EMV 4.4 Book 3, 10.11 (completion).
 *
 * @param hex - BER-TLV in hexadecimal, at most 4096 bytes
 * @returns the card where it is named, and the objects for data element 55
 * @throws EmvError with a code of `emvErrorCodes`; never with a value
 * @example
 * parseChipOutcome('9F270100').cryptogramKind; // 'AAC'
 */
export function parseChipOutcome(hex: string): ChipOutcome {
  const leaves = readChipObjects(hex);
  const track = trackIn(leaves);
  const pan = panIn(leaves) ?? track?.pan;
  const expiry = expiryIn(leaves) ?? track?.expiry;
  return {
    contradicts: track !== undefined && (track.pan !== pan || track.expiry !== expiry),
    forDe55: de55Of(leaves),
    ...withoutUndefined({
      pan,
      expiry,
      cryptogramKind: cryptogramKindOf(hexIn(leaves, '9F27')),
    }),
  };
}

/**
 * Compares the data of a chip with the request that carries it: the chip signed an amount and a
 * currency, and they must be those of the sale. Objects that are absent are not compared.
 *
 * @param chip - what was read
 * @param sale - the amount in minor units, and the numeric currency of three digits
 * @returns what differs, in a fixed order; empty where all agrees
 * @example
 * checkChipData(chip, { amount: 1050, currencyNumeric: '978' }); // []
 */
export function checkChipData(
  chip: ChipData,
  sale: {
    readonly amount: number;
    readonly currencyNumeric: string;
    readonly otherAmount?: number;
    /** The chip was read by contact. */
    readonly isContact?: boolean;
  },
): ChipMismatch[] {
  const mismatches: ChipMismatch[] = [];
  if (chip.amount !== undefined && chip.amount !== sale.amount) {
    mismatches.push('emv_amount_mismatch');
  }
  if (chip.otherAmount !== undefined && chip.otherAmount !== (sale.otherAmount ?? 0)) {
    mismatches.push('emv_other_amount_mismatch');
  }
  if (chip.currency !== undefined && chip.currency !== sale.currencyNumeric) {
    mismatches.push('emv_currency_mismatch');
  }
  if (sale.isContact === true && chip.isContactless) mismatches.push('emv_interface_mismatch');
  return [...mismatches, ...chip.contradictions];
}
