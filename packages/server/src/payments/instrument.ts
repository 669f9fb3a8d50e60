// Reads what the card presented: a typed card, a token, or chip data; card data stops here.
import { type Instrument, type ProcessRequest, refuse } from '@switchyard/contract';
import {
  checkChipData,
  EmvError,
  isValidPan,
  maskPan,
  parseChipData,
  schemeOf,
} from '@switchyard/emv';
import { numericOf } from '@switchyard/money';

/** A card as it was presented; lives in memory until the acquirer has answered. */
export type PresentedCard = {
  pan: string;
  /** YYMM */
  expiry: string;
  scheme: string;
  maskedNumber: string;
  sensitive?: { track2?: string; securityCode?: string };
  panSequence?: string;
  /** The tags that go to the acquirer, hex. */
  chipData?: string;
  /** The tags that a receipt prints. */
  chip?: Record<string, string>;
};

const chipModes: ReadonlySet<string> = new Set(['ContactChip', 'ContactlessChip']);

function describe(pan: string, expiry: string): PresentedCard {
  return { pan, expiry, scheme: schemeOf(pan), maskedNumber: maskPan(pan) };
}

const twoDigits = (value: number) => String(value).padStart(2, '0');

function fromTyped(card: NonNullable<Instrument['card']>): PresentedCard {
  if (!isValidPan(card.number)) {
    refuse('card_number_invalid', 'The card number fails its check digit.', {
      errors: [
        {
          pointer: '/instrument/card/number',
          code: 'card_number_invalid',
          detail: 'The check digit does not fit.',
        },
      ],
    });
  }
  const expiry = twoDigits(card.expiryYear % 100) + twoDigits(card.expiryMonth);
  const presented = describe(card.number, expiry);
  if (card.securityCode !== undefined) presented.sensitive = { securityCode: card.securityCode };
  return presented;
}

function fromChip(emvData: string, request: ProcessRequest): PresentedCard {
  try {
    const chip = parseChipData(emvData);
    const [mismatch] = checkChipData(chip, {
      amount: request.amount,
      currencyNumeric: numericOf(request.currency),
    });
    if (mismatch !== undefined) {
      refuse('emv_data_mismatch', `The chip data does not agree with the request: ${mismatch}.`, {
        errors: [
          { pointer: '/instrument/emvData', code: mismatch, detail: 'Differs from the request.' },
        ],
      });
    }
    return {
      ...describe(chip.pan, chip.expiry),
      chipData: chip.forDe55,
      chip: chip.receipt,
      ...(chip.track2 === undefined ? {} : { sensitive: { track2: chip.track2 } }),
      ...(chip.panSequence === undefined ? {} : { panSequence: chip.panSequence }),
    };
  } catch (error) {
    if (!(error instanceof EmvError)) throw error;
    return refuse('emv_data_invalid', `The chip data cannot be read: ${error.code}.`, {
      errors: [{ pointer: '/instrument/emvData', code: error.code, detail: 'Cannot be read.' }],
    });
  }
}

/**
 * The card behind an instrument.
 *
 * @param reveal the vault's look-up, for an instrument that is a token
 * @throws Refusal entry_mode_invalid, card_number_invalid, card_token_unknown, emv_data_invalid,
 *   emv_data_mismatch
 */
export async function presentedCard(
  request: ProcessRequest,
  reveal: (token: string) => Promise<{ pan: string; expiry: string } | undefined>,
): Promise<PresentedCard> {
  const { instrument, entryMode } = request;
  const readByChip = chipModes.has(entryMode);
  if (readByChip !== (instrument.emvData !== undefined)) {
    refuse('entry_mode_invalid', `${entryMode} does not go with this instrument.`, {
      errors: [
        { pointer: '/entryMode', code: 'entry_mode_invalid', detail: 'Chip data and only it.' },
      ],
    });
  }
  if (instrument.emvData !== undefined) return fromChip(instrument.emvData, request);
  if (instrument.card !== undefined) return fromTyped(instrument.card);
  const card = await reveal(instrument.token ?? '');
  if (card === undefined) {
    return refuse('card_token_unknown', 'No card stands behind this token.', {
      errors: [
        { pointer: '/instrument/token', code: 'card_token_unknown', detail: 'Unknown token.' },
      ],
    });
  }
  return describe(card.pan, card.expiry);
}
