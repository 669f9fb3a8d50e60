/**
 * The instrument of a card sale: an entered card, a token, chip data or a track, clear or
 * encrypted.
 */
import { type Static, Type } from 'typebox';
import { fieldCodes, wordOf } from '../values-and-problems/value-schemas.ts';
import { dukptSchemes, encryptedKinds } from './enums.ts';

const strict = { additionalProperties: false } as const;

/**
 * Data objects of a chip.
 *
 * @example
 * const emvData: ChipObjects = '9F2701809F2608584FD385FA234BCC';
 */
export const ChipObjects = Type.String({
  minLength: 4,
  maxLength: 2048,
  pattern: '^(?:[0-9A-Fa-f]{2})+$',
  description:
    'The data of the chip: BER-TLV in hexadecimal, with tag 57 or 5A; without both, track2 is sent beside it.',
  ...fieldCodes({
    type: 'emv_data_invalid',
    minLength: 'emv_data_invalid',
    maxLength: 'emv_data_invalid',
    pattern: 'emv_data_invalid',
  }),
});
/** The type of {@link ChipObjects}. */
export type ChipObjects = Static<typeof ChipObjects>;

/**
 * A DUKPT key serial number: 20 hexadecimal digits for TDES (16 without the leading FFFF), 24 for
 * AES.
 *
 * @example
 * const ksn: KeySerial = 'FFFF9876543210E00001';
 */
export const KeySerial = Type.String({
  pattern: '^(?:[0-9A-Fa-f]{16}|[0-9A-Fa-f]{20}|[0-9A-Fa-f]{24})$',
  description:
    'The key serial number of the device: 20 hexadecimal digits of TDES DUKPT (ANSI X9.24-1), 24 of AES DUKPT (ANSI X9.24-3).',
  examples: ['FFFF9876543210E00001'],
});
/** The type of {@link KeySerial}. */
export type KeySerial = Static<typeof KeySerial>;

/**
 * Card data that the device encrypted. Its kind decides the possible entry modes: `Track2` the
 * modes of the stripe, `Emv` the modes of the chip, `Card` Keyed.
 *
 * @example
 * const encrypted: EncryptedCardData = {
 *   of: 'Track2', scheme: 'DukptTdes', ksn: 'FFFF9876543210E00001', data: '0011223344556677',
 * };
 */
export const EncryptedCardData = Type.Object(
  {
    of: wordOf(encryptedKinds, {
      description:
        'The encrypted content. Track2: the characters of track 2; Emv: the bytes of the BER-TLV that emvData has in hexadecimal; Card: the JSON text of the field `card`.',
    }),
    scheme: wordOf(dukptSchemes, { description: 'How the key of each transaction is derived.' }),
    ksn: KeySerial,
    keyId: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9._:/-]{1,128}$',
        description:
          'The base derivation key in the security module; without it the one that the serial number names.',
      }),
    ),
    data: Type.String({
      minLength: 16,
      maxLength: 2112,
      pattern: '^(?:[0-9A-Fa-f]{16})+$',
      description:
        'The data in whole blocks, hexadecimal: CBC with an initial vector of zeros under the data encryption key; padded with 00, or with 80 and then 00.',
      ...fieldCodes({
        type: 'encrypted_data_invalid',
        minLength: 'encrypted_data_invalid',
        maxLength: 'encrypted_data_invalid',
        pattern: 'encrypted_data_invalid',
      }),
    }),
  },
  { ...strict, description: 'Card data that the device encrypted (DUKPT).' },
);
/** The type of {@link EncryptedCardData}. */
export type EncryptedCardData = Static<typeof EncryptedCardData>;

/**
 * Manually entered card data.
 *
 * @example
 * const card: Card = { number: '4111111111111111', expiryMonth: 3, expiryYear: 2030 };
 */
export const Card = Type.Object(
  {
    number: Type.String({
      pattern: '^[0-9]{12,19}$',
      description: 'The card number: 12 to 19 digits, with a valid check digit.',
      examples: ['4111111111111111'],
      ...fieldCodes({ type: 'card_number_invalid', pattern: 'card_number_invalid' }),
    }),
    expiryMonth: Type.Integer({
      minimum: 1,
      maximum: 12,
      description: 'The month of the expiry.',
      examples: [3],
    }),
    expiryYear: Type.Integer({
      minimum: 2000,
      maximum: 2099,
      description: 'The year of the expiry, four digits.',
      examples: [2030],
    }),
    securityCode: Type.Optional(
      Type.String({
        pattern: '^[0-9]{3,4}$',
        description: 'The card security code. It is sent on and never stored.',
        examples: ['737'],
      }),
    ),
    holderName: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'The name on the card.' }),
    ),
  },
  { ...strict, description: 'Card data as it is typed in.' },
);
/** The type of {@link Card}. */
export type Card = Static<typeof Card>;

/**
 * The contact of a cardholder for a mail or telephone order: an email address, a telephone number,
 * or both.
 *
 * @example
 * const address: ContactAddress = { phone: '+33123456789' };
 */
export const ContactAddress = Type.Object(
  {
    email: Type.Optional(
      Type.String({ format: 'email', maxLength: 254, examples: ['guest@example.com'] }),
    ),
    phone: Type.Optional(
      Type.String({
        pattern: '^\\+[1-9][0-9]{6,14}$',
        description: 'A telephone number after E.164.',
        examples: ['+33123456789'],
      }),
    ),
  },
  {
    ...strict,
    minProperties: 1,
    description: 'An e-mail address or a telephone number of the cardholder.',
    ...fieldCodes({ minProperties: 'moto_contact_required' }),
  },
);
/** The type of {@link ContactAddress}. */
export type ContactAddress = Static<typeof ContactAddress>;

/**
 * The payment instrument. It contains exactly one of `card`, `token` (both with Keyed), `emvData`
 * (with the chip modes), `track2` (with the stripe modes) and `encrypted`, which can replace each
 * of them. `address` is an additional member.
 *
 * @example
 * const instrument: Instrument = { token: 'tok_5R2…' };
 */
export const Instrument = Type.Object(
  {
    card: Type.Optional(Card),
    token: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        pattern: '^[A-Za-z0-9_-]+$',
        description: 'The token of a stored card, from the card of an earlier answer.',
        ...fieldCodes({ minLength: 'card_token_unknown', pattern: 'card_token_unknown' }),
      }),
    ),
    emvData: Type.Optional(ChipObjects),
    track2: Type.Optional(
      Type.String({
        pattern: '^;?[0-9]{12,19}[=Dd][0-9]{7,}[Ff]?\\??$',
        maxLength: 40,
        description:
          'Track 2 of the stripe (ISO/IEC 7813), with or without sentinels. It is sent on and never stored.',
        ...fieldCodes({
          type: 'track_data_invalid',
          pattern: 'track_data_invalid',
          maxLength: 'track_data_invalid',
        }),
      }),
    ),
    encrypted: Type.Optional(EncryptedCardData),
    address: Type.Optional(ContactAddress),
  },
  {
    ...strict,
    minProperties: 1,
    description:
      'The payment instrument: exactly one of card, token, emvData, track2 and encrypted, and optionally address.',
    ...fieldCodes({ minProperties: 'instrument_invalid' }),
  },
);
/** The type of {@link Instrument}. */
export type Instrument = Static<typeof Instrument>;
