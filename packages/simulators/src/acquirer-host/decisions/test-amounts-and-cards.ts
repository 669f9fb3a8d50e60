// Test amounts and test cards that select an answer; the host approves every other request.

/** How the host sends an answer. */
export type AnswerDelivery =
  | 'once'
  | 'never'
  | 'late'
  | 'slow'
  | 'close'
  | 'twice'
  | 'garbled'
  | 'other-amount';

/** The effect of a test amount: a response code (DE39) and how the host sends the answer. */
export type AmountRule = { code: string; delivery: AnswerDelivery };

const RULES_FROM = 9000;
const RULES_TO = 9098;
const AMOUNT_MODULUS = 10_000;
const NEW_KEYS = 9099;
const OTHER_AMOUNT = 9103;

const APPROVED = '00';
const PARTIALLY_APPROVED = '10';
const APPROVALS: ReadonlySet<string> = new Set([APPROVED, '08', '11']);

const deliveries: Readonly<Record<number, AnswerDelivery>> = {
  9091: 'never',
  9092: 'late',
  9093: 'close',
  9094: 'twice',
  9095: 'garbled',
  9098: 'slow',
};

/**
 * The rule of an amount: where the last four digits are 9000 to 9098, the last two are the
 * response code. The amounts that select a link fault approve, and so does 9103, whose answer has another amount.
 *
 * @param amountMinor DE4, in minor units
 * @example
 * ```ts
 * amountRule(19051); // { code: '51', delivery: 'once' }
 * amountRule(9091); // { code: '00', delivery: 'never' }
 * ```
 */
export function amountRule(amountMinor: number): AmountRule {
  const tail = amountMinor % AMOUNT_MODULUS;
  if (tail === OTHER_AMOUNT) return { code: APPROVED, delivery: 'other-amount' };
  if (tail < RULES_FROM || tail > RULES_TO) return { code: APPROVED, delivery: 'once' };
  const delivery = deliveries[tail];
  if (delivery !== undefined) return { code: APPROVED, delivery };
  return { code: String(tail - RULES_FROM).padStart(2, '0'), delivery: 'once' };
}

/** Whether the host sends new keys after its answer. */
export const sendsNewKeys = (amountMinor: number): boolean =>
  amountMinor % AMOUNT_MODULUS === NEW_KEYS;

/** The functions (DE70) of network management: sign-off, and cut-over to the next settlement day. */
const functionsAfterAnswer: Readonly<Record<number, '002' | '201'>> = { 9101: '002', 9102: '201' };

/** The function of the network management request that the host sends after its answer, or undefined. */
export const functionAfterAnswer = (amountMinor: number): '002' | '201' | undefined =>
  functionsAfterAnswer[amountMinor % AMOUNT_MODULUS];

/** Whether a response code approves; 10 approves a part of the amount. */
export function isApprovalCode(code: string): boolean {
  return APPROVALS.has(code) || code === PARTIALLY_APPROVED;
}

/** The approved part of an amount: all, half of it rounded down, or 0. */
export function approvedAmount(code: string, requestedMinor: number): number {
  if (code === PARTIALLY_APPROVED) return Math.floor(requestedMinor / 2);
  return isApprovalCode(code) ? requestedMinor : 0;
}

/** How the host treats the first reversals of a card. */
export type ReversalFault = 'silent' | 'refused';

// Masked, as the ledger holds them; the numbers are in the package's README.
const reversalFaultCards: Readonly<Record<string, ReversalFault>> = {
  '400000******4202': 'silent',
  '400000******4210': 'refused',
};

/** How many reversals of an original stay unanswered (`silent`) or get 96 (`refused`). */
export const reversalFaultAttempts: Readonly<Record<ReversalFault, number>> = {
  silent: 2,
  refused: 3,
};

/** The reversal fault of a masked card number, or undefined. */
export function reversalFaultOf(maskedPan: string): ReversalFault | undefined {
  return reversalFaultCards[maskedPan];
}
