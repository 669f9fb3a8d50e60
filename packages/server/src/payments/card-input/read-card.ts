// Reads the card from keyed data, token, EMV data or track 2. Card data stays in this module.
import {
  defined,
  type EntryMode,
  fieldError,
  type Instrument,
  type ProcessRequest,
  throwFieldProblem,
  throwProblem,
} from '@switchyard/contract';
import {
  checkChipData,
  EmvError,
  isValidPan,
  maskPan,
  parseChipData,
  parseTrack2,
  schemeOfPan,
  type Track2,
} from '@switchyard/emv';
import { numericOf } from '@switchyard/money';
import type { AcquirerRequest } from '../../acquiring/index.ts';
import type { Hsm } from '../../vault/index.ts';
import { clearMemberByKind, decryptInstrument, readAsEncrypted } from './decrypt-card-data.ts';

/** Kept in memory only, until the acquirer has responded. */
export type PresentedCard = {
  pan: string;
  /** YYMM */
  expiry: string;
  scheme: string;
  maskedNumber: string;
  sensitive?: NonNullable<AcquirerRequest['sensitive']>;
  panSequenceNumber?: string;
  /** DE55, hex. */
  chipData?: string;
  receiptChipTags?: Record<string, string>;
  /** YYMMDD, from the terminal's clock. */
  chipTransactionDate?: string;
};

type InstrumentKind = Exclude<keyof Instrument, 'address' | 'encrypted'>;

const instrumentKindsByEntryMode: Readonly<Record<EntryMode, readonly InstrumentKind[]>> = {
  ContactChip: ['emvData'],
  ContactlessChip: ['emvData'],
  MagStripe: ['track2'],
  ContactlessMagStripe: ['track2'],
  FallbackMagStripe: ['track2'],
  Keyed: ['card', 'token'],
};

/** Interchange, first digit of the service code: the card has a chip (ISO/IEC 7813). */
const chipServiceCodeDigits: ReadonlySet<string> = new Set(['2', '6']);
/** Services, third digit of the service code: no cash. */
const noCashServiceCodeDigits: ReadonlySet<string> = new Set(['2', '5', '7']);

function toPresentedCard(pan: string, expiry: string): PresentedCard {
  return { pan, expiry, scheme: schemeOfPan(pan), maskedNumber: maskPan(pan) };
}

const twoDigits = (value: number) => String(value).padStart(2, '0');

function readKeyedCard(card: NonNullable<Instrument['card']>): PresentedCard {
  if (!isValidPan(card.number)) {
    const detail = 'The card number has an invalid check digit.';
    throwFieldProblem('card_number_invalid', '/instrument/card/number', detail);
  }
  const expiry = twoDigits(card.expiryYear % 100) + twoDigits(card.expiryMonth);
  const presented = toPresentedCard(card.number, expiry);
  if (card.securityCode !== undefined) presented.sensitive = { securityCode: card.securityCode };
  return presented;
}

function readChipCard(
  emvData: string,
  track2: string | undefined,
  request: ProcessRequest,
): PresentedCard {
  try {
    const chip = parseChipData(emvData, track2 === undefined ? undefined : readTrack(track2));
    const [mismatch] = checkChipData(chip, {
      amount: request.amount,
      currencyNumeric: numericOf(request.currency),
      otherAmount: request.amounts?.cashback ?? 0,
      isContact: request.entryMode === 'ContactChip',
    });
    if (mismatch !== undefined) {
      const detail = `The chip data does not agree with the request: ${mismatch}.`;
      const errors = fieldError('/instrument/emvData', mismatch, 'Differs from the request.');
      throwProblem('emv_data_mismatch', detail, errors);
    }
    checkCashbackService(chip.serviceCode, request);
    // On-device cardholder verification (CDCVM) applies to contactless only.
    const isOnDevice = request.entryMode === 'ContactlessChip' && chip.verifiedOnDevice;
    return {
      ...toPresentedCard(chip.pan, chip.expiry),
      chipData: chip.forDe55,
      receiptChipTags: isOnDevice
        ? { ...chip.receipt, cardholderVerification: 'OnDevice' }
        : chip.receipt,
      ...defined({
        sensitive: chip.track2 === undefined ? undefined : { track2: chip.track2 },
        chipTransactionDate: chip.date,
        panSequenceNumber: chip.panSequence,
      }),
    };
  } catch (error) {
    if (!(error instanceof EmvError)) throw error;
    const errors = fieldError('/instrument/emvData', error.code, 'Cannot be read.');
    return throwProblem('emv_data_invalid', `The chip data cannot be read: ${error.code}.`, errors);
  }
}

/** `FallbackMagStripe` is for chip cards whose chip cannot be read, `MagStripe` for cards without a chip. */
function checkMagstripeEntryMode(entryMode: EntryMode, serviceCode: string): void {
  const hasChip = chipServiceCodeDigits.has(serviceCode.slice(0, 1));
  if (entryMode !== (hasChip ? 'MagStripe' : 'FallbackMagStripe')) return;
  const detail = hasChip
    ? 'The card has a chip: read the chip, or send FallbackMagStripe if it cannot be read.'
    : 'The card has no chip, so there is no fallback: send MagStripe.';
  throwFieldProblem('entry_mode_invalid', '/entryMode', detail);
}

function checkCashbackService(serviceCode: string | undefined, { amounts }: ProcessRequest): void {
  if (amounts?.cashback === undefined || !noCashServiceCodeDigits.has(serviceCode?.slice(2) ?? ''))
    return;
  const detail = 'The service code of the card does not allow cashback.';
  throwFieldProblem('field_invalid', '/amounts/cashback', detail);
}

function readMagstripeCard(text: string, request: ProcessRequest): PresentedCard {
  const track = readTrack(text);
  checkMagstripeEntryMode(request.entryMode, track.serviceCode);
  checkCashbackService(track.serviceCode, request);
  return { ...toPresentedCard(track.pan, track.expiry), sensitive: { track2: track.text } };
}

function readTrack(text: string): Track2 {
  try {
    const track = parseTrack2(text);
    // Some UnionPay cards have no check digit; the track has its own parity check.
    if (schemeOfPan(track.pan) === 'UnionPay' || isValidPan(track.pan)) return track;
  } catch (error) {
    if (!(error instanceof EmvError)) throw error;
  }
  const detail = 'The track is not in the format of ISO/IEC 7813, or a digit is wrong.';
  return throwFieldProblem('track_data_invalid', '/instrument/track2', detail);
}

function instrumentKindOf({ encrypted, address: _address, ...clear }: Instrument): InstrumentKind {
  const kinds = Object.keys(clear) as InstrumentKind[];
  if (encrypted !== undefined) kinds.push(clearMemberByKind[encrypted.of]);
  const [kind, ...more] = kinds;
  if (kind !== undefined && more.length === 0) return kind;
  // Some readers send track 2 and omit the tags 57 and 5A from the chip data.
  if (more.length === 1 && kinds.includes('emvData') && kinds.includes('track2')) return 'emvData';
  return throwFieldProblem(
    'instrument_invalid',
    '/instrument',
    'An instrument is exactly one of card, token, emvData and track2, or emvData with track2.',
  );
}

function requireInstrumentKind({ entryMode, instrument }: ProcessRequest): void {
  const kind = instrumentKindOf(instrument);
  const kinds = instrumentKindsByEntryMode[entryMode];
  if (kinds.includes(kind)) return;
  const detail = `entryMode ${entryMode} requires ${kinds.join(' or ')} in the instrument, which contains ${kind}.`;
  throwFieldProblem('entry_mode_invalid', '/entryMode', detail);
}

function readClearCardData(request: ProcessRequest): PresentedCard {
  const { emvData, track2, card } = request.instrument;
  if (emvData !== undefined) return readChipCard(emvData, track2, request);
  if (track2 !== undefined) return readMagstripeCard(track2, request);
  if (card !== undefined) return readKeyedCard(card);
  throw new Error('the instrument has no card data');
}

type CardDataProviders = {
  reveal(token: string): Promise<{ pan: string; expiry: string } | undefined>;
  decrypt: Hsm['decryptData'];
};

/**
 * @throws ProblemError instrument_invalid, entry_mode_invalid, card_number_invalid, card_token_unknown,
 *   emv_data_invalid, emv_data_mismatch, track_data_invalid, and those of encrypted data
 */
export async function readCard(
  request: ProcessRequest,
  { reveal, decrypt }: CardDataProviders,
): Promise<PresentedCard> {
  requireInstrumentKind(request);
  const { encrypted, ...clear } = request.instrument;
  if (encrypted !== undefined) {
    const instrument = { ...clear, ...(await decryptInstrument(decrypt, encrypted)) };
    return readAsEncrypted(encrypted.of, () => readClearCardData({ ...request, instrument }));
  }
  if (clear.token === undefined) return readClearCardData(request);
  const card = await reveal(clear.token);
  if (card !== undefined) return toPresentedCard(card.pan, card.expiry);
  const detail = 'No card with this token exists.';
  return throwFieldProblem('card_token_unknown', '/instrument/token', detail);
}
