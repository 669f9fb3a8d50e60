/** The enumerations of card payments: states, kinds, modes and event types. */

/**
 * The states of a transaction. If several conditions hold, the state is the first of this list:
 * Reversing, Reversed, Declined, Failed, Stored, Received, Expired, Cancelled, Refunded,
 * PartiallyRefunded, Captured, PartiallyCaptured, Authorized.
 *
 * @example
 * transactionStates.includes('Reversing'); // true
 */
export const transactionStates = [
  'Received',
  'Stored',
  'Authorized',
  'PartiallyCaptured',
  'Captured',
  'PartiallyRefunded',
  'Refunded',
  'Cancelled',
  'Declined',
  'Failed',
  'Reversing',
  'Reversed',
  'Expired',
] as const;

/**
 * The state of a transaction.
 *
 * @example
 * const state: TransactionState = 'Authorized';
 */
export type TransactionState = (typeof transactionStates)[number];

/**
 * The kinds of operations on a transaction. `Cancel` is a void (cancelReason Functional).
 * `Reversal` reverses the whole sale (cancelReason Technical, or by the platform itself).
 *
 * @example
 * const kind: OperationKind = 'Capture';
 */
export const operationKinds = ['Capture', 'Refund', 'Cancel', 'Reversal'] as const;
/** One of {@link operationKinds}. */
export type OperationKind = (typeof operationKinds)[number];

/**
 * The statuses of an operation; all but `Pending` are final.
 *
 * @example
 * const status: OperationStatus = 'Pending';
 */
export const operationStatuses = ['Pending', 'Succeeded', 'Declined', 'Failed'] as const;
/** One of {@link operationStatuses}. */
export type OperationStatus = (typeof operationStatuses)[number];

/**
 * The types of the events of a transaction.
 *
 * @example
 * const type: TransactionEventType = 'transaction.reversal_queued';
 */
export const transactionEventTypes = [
  'transaction.received',
  'transaction.stored',
  'transaction.sent',
  'transaction.rerouted',
  'transaction.authorized',
  'transaction.declined',
  'transaction.failed',
  'transaction.capture_pending',
  'transaction.captured',
  'transaction.confirmed',
  'transaction.capture_failed',
  'transaction.cancel_pending',
  'transaction.cancelled',
  'transaction.cancel_failed',
  'transaction.refund_pending',
  'transaction.refunded',
  'transaction.refund_failed',
  'transaction.reversal_queued',
  'transaction.reversed',
  'transaction.late_response',
  'transaction.expired',
  'offline.gap_detected',
] as const;
/** One of {@link transactionEventTypes}. */
export type TransactionEventType = (typeof transactionEventTypes)[number];

/**
 * How the card was read. `FallbackMagStripe` is the stripe of a card with an unreadable chip.
 *
 * @example
 * const entryMode: EntryMode = 'ContactlessChip';
 */
export const entryModes = [
  'ContactChip',
  'ContactlessChip',
  'MagStripe',
  'ContactlessMagStripe',
  'FallbackMagStripe',
  'Keyed',
] as const;
/** One of {@link entryModes}. */
export type EntryMode = (typeof entryModes)[number];

/**
 * How a customer placed an order outside the store.
 *
 * @example
 * const orderChannel: OrderChannel = 'TelephoneOrder';
 */
export const orderChannels = ['MailOrder', 'TelephoneOrder'] as const;
/** One of {@link orderChannels}. */
export type OrderChannel = (typeof orderChannels)[number];

/**
 * When the sale is captured: at once, or by a later capture.
 *
 * @example
 * const captureMode: CaptureMode = 'Deferred';
 */
export const captureModes = ['Immediate', 'Deferred'] as const;
/** One of {@link captureModes}. */
export type CaptureMode = (typeof captureModes)[number];

/**
 * The purpose of a sale with amount 0: a card verification.
 *
 * @example
 * const purpose: SalePurpose = 'AccountVerification';
 */
export const salePurposes = ['AccountVerification'] as const;
/** One of {@link salePurposes}. */
export type SalePurpose = (typeof salePurposes)[number];

/**
 * The formats of ISO 9564-1 in which a terminal sends a PIN: 0, 1 and 3 with TDES DUKPT, 4 with AES
 * DUKPT.
 *
 * @example
 * const pinblockFormat: PinBlockFormatName = 'ISO4';
 */
export const pinBlockFormats = ['ISO0', 'ISO1', 'ISO3', 'ISO4'] as const;
/** One of {@link pinBlockFormats}. */
export type PinBlockFormatName = (typeof pinBlockFormats)[number];

/**
 * How a device derives the key of each transaction: DUKPT of ANSI X9.24-1 (TDES) or X9.24-3 (AES).
 *
 * @example
 * const scheme: DukptSchemeName = 'DukptAes';
 */
export const dukptSchemes = ['DukptTdes', 'DukptAes'] as const;
/** One of {@link dukptSchemes}. */
export type DukptSchemeName = (typeof dukptSchemes)[number];

/**
 * The kinds of encrypted card data.
 *
 * @example
 * const of: EncryptedKind = 'Track2';
 */
export const encryptedKinds = ['Track2', 'Emv', 'Card'] as const;
/** One of {@link encryptedKinds}. */
export type EncryptedKind = (typeof encryptedKinds)[number];
