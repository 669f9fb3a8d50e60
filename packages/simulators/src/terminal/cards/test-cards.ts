// The test cards of the simulated terminal, and the behaviour of their holders.
import { type CardEntry, passesLuhn, type WalletCard } from '@switchyard/contract';

/** The EntryMode of Nexo for each way to read a card. */
export const nexoEntryModes = {
  Chip: 'ICC',
  Tap: 'Contactless',
  MagStripe: 'MagStripe',
  Keyed: 'Keyed',
} as const satisfies Record<CardEntry, string>;

/** How the cardholder is verified: by PIN, signature, own device, or not at all. */
export type CardholderVerification = 'Pin' | 'Signature' | 'Device' | 'None';

/** The behaviour of the card or its holder during a payment. */
export type CardBehaviour =
  | 'Pays'
  | 'Absent'
  | 'Cancels'
  | 'RemovedEarly'
  | 'RemovedLate'
  | 'Unreadable'
  | 'DeclinesItself'
  | 'DeclinesApproval'
  | 'ApprovesItself';

/**
 * A card of the simulated terminal.
 *
 * @example
 * const { label, behaviour }: TestCard = testCards[0];
 */
export type TestCard = {
  readonly name: string;
  readonly label: string;
  readonly number: string;
  /** YYMM. */
  readonly expiry: string;
  readonly brand: string;
  /** Application identifier (AID); a magnetic stripe has none. */
  readonly applicationId: string;
  readonly entry: CardEntry;
  readonly verification: CardholderVerification;
  /** The PINs that the holder enters, in this order; the last one is repeated. */
  readonly pins: readonly string[];
  readonly behaviour: CardBehaviour;
};

/** Adds the check digit. */
function withCheckDigit(digits: string): string {
  const last = '0123456789'.split('').find((digit) => passesLuhn(digits + digit));
  return digits + (last ?? '');
}

const visa = {
  number: withCheckDigit('411111111111111'),
  brand: 'Visa',
  applicationId: 'A0000000031010',
};
const mastercard = {
  number: withCheckDigit('541333008901001'),
  brand: 'Mastercard',
  applicationId: 'A0000000041010',
};
const contactless = { ...mastercard, number: withCheckDigit('555555555555444') };
const discover = {
  number: withCheckDigit('601111111111111'),
  brand: 'Discover',
  applicationId: '',
};
const electron = { ...visa, number: withCheckDigit('476173900101011') };

const rightPin = ['1234'];
const chip = {
  ...mastercard,
  expiry: '4912',
  entry: 'Chip',
  verification: 'Pin',
  pins: rightPin,
  behaviour: 'Pays',
} as const;

/**
 * The test cards, by name. 1234 is the correct PIN of all of them.
 *
 * @example
 * testCards.find(({ name }) => name === 'tap')?.entry; // 'Tap'
 */
export const testCards: readonly TestCard[] = [
  { ...chip, name: 'mastercard', label: 'Chip and PIN' },
  { ...chip, ...visa, name: 'visa', label: 'Chip and PIN' },
  { ...chip, ...contactless, name: 'tap', label: 'Tap', entry: 'Tap', verification: 'None' },
  { ...chip, ...visa, name: 'phone', label: 'Telephone', entry: 'Tap', verification: 'Device' },
  { ...chip, ...electron, name: 'signature', label: 'Chip, signature', verification: 'Signature' },
  {
    ...chip,
    ...discover,
    name: 'stripe',
    label: 'Stripe, signature',
    entry: 'MagStripe',
    verification: 'Signature',
  },
  { ...chip, name: 'wrong-pin-once', label: 'Wrong PIN, then right', pins: ['9999', '1234'] },
  { ...chip, name: 'wrong-pin', label: 'Wrong PIN, always', pins: ['9999'] },
  { ...chip, name: 'removed', label: 'Removed too early', behaviour: 'RemovedEarly' },
  { ...chip, name: 'removed-late', label: 'Removed at the end', behaviour: 'RemovedLate' },
  { ...chip, name: 'absent', label: 'No card is presented', behaviour: 'Absent' },
  { ...chip, name: 'cancels', label: 'Holder presses Stop', behaviour: 'Cancels' },
  { ...chip, name: 'unreadable', label: 'Cannot be read', behaviour: 'Unreadable' },
  { ...chip, name: 'declines', label: 'Chip declines at once', behaviour: 'DeclinesItself' },
  {
    ...chip,
    name: 'declines-late',
    label: 'Chip declines the approval',
    behaviour: 'DeclinesApproval',
  },
  { ...chip, ...visa, name: 'offline', label: 'Chip approves', behaviour: 'ApprovesItself' },
];

/** The test card with a name. */
export function findTestCard(name: string): TestCard | undefined {
  return testCards.find((card) => card.name === name);
}

/** The entries of the cards that a person can present. */
const walletEntries: Readonly<Record<string, readonly CardEntry[]>> = {
  mastercard: ['Tap', 'Chip', 'Keyed'],
  visa: ['Tap', 'Chip', 'Keyed'],
  phone: ['Tap'],
  signature: ['Chip', 'Keyed'],
  stripe: ['MagStripe', 'Keyed'],
};

/**
 * The test cards that a person can present at a manual terminal.
 *
 * @example
 * walletCards.find(({ name }) => name === 'phone')?.entries; // ['Tap']
 */
export const walletCards: readonly WalletCard[] = testCards.flatMap(({ name, brand, number }) => {
  const entries = walletEntries[name];
  return entries === undefined ? [] : [{ name, brand, number, entries }];
});
