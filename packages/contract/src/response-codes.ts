/** DE39 response codes of acquirer hosts, and their meaning for the platform. */
import codes from './response-codes.json' with { type: 'json' };

/**
 * The categories of responses.
 *
 * - `SoftDecline`: another way or another time may succeed.
 * - `HardDecline`: another attempt with this card will not succeed.
 * - `TechnicalFailure`: a fault on the path to the issuer.
 * - `Unknown`: a code that is not in the table, or no answer. It is never an approval.
 *
 * @example
 * responseCategories.includes('SoftDecline'); // true
 */
export const responseCategories = [
  'Approved',
  'PartiallyApproved',
  'SoftDecline',
  'HardDecline',
  'TechnicalFailure',
  'Unknown',
] as const;
/** One of {@link responseCategories}. */
export type ResponseCategory = (typeof responseCategories)[number];

/**
 * What a terminal can try next, as a new sale with a new identifier.
 *
 * - `Never`: no new sale.
 * - `Later`: the same card later.
 * - `OtherCard`: another card.
 * - `WithPin`: the same card with a PIN.
 * - `OtherInterface`: the same card with another interface, for example insert instead of tap.
 *
 * @example
 * declineRetryAdvices.includes('WithPin'); // true
 */
export const declineRetryAdvices = [
  'Never',
  'Later',
  'OtherCard',
  'WithPin',
  'OtherInterface',
] as const;
/** One of {@link declineRetryAdvices}. */
export type DeclineRetryAdvice = (typeof declineRetryAdvices)[number];

/**
 * The meaning of a response code. An approval has no `retry`. `known` is false for a code outside
 * the table. Treat such a code as no answer, count it and raise an alarm.
 *
 * @example
 * const { approved, reason } = responseCodeFacts('51'); // false, 'InsufficientFunds'
 */
export type ResponseFacts = {
  readonly category: ResponseCategory;
  readonly reason: string;
  readonly retry?: DeclineRetryAdvice;
  readonly approved: boolean;
  readonly known: boolean;
};

type ResponseCodeRow = Pick<ResponseFacts, 'category' | 'reason' | 'retry'>;

const toFacts = (row: ResponseCodeRow): ResponseFacts => ({
  ...row,
  approved: row.category === 'Approved' || row.category === 'PartiallyApproved',
  known: true,
});

const otherApproval = toFacts({ category: 'Approved', reason: 'Approved' });

const pinOrChipRequired = toFacts({
  category: 'SoftDecline',
  reason: 'PinOrChipRequired',
  retry: 'OtherInterface',
});

/**
 * The two-character codes of ISO 8583:1987 as acquirers use them.
 *
 * Source: ISO 8583:1987, data element 39, with the additions of the card schemes (1A, 5C, 6P, 70 to
 * 89, 9G, Nx, Q1, Rx, Z3).
 *
 * @example
 * responseCodes['54']?.reason; // 'ExpiredCard'
 */
export const responseCodes: Readonly<Record<string, ResponseFacts>> = Object.fromEntries(
  Object.entries(codes.responseCodes).map(([code, row]) => [code, toFacts(row as ResponseCodeRow)]),
);

/**
 * Maps three-digit action codes of ISO 8583:1993 to the 1987 code with the same meaning; 2xx are
 * 1xx with pick-up.
 *
 * @example
 * actionCodes['116']; // '51'
 */
export const actionCodes: Readonly<Record<string, string>> = codes.actionCodes;

/** 0xx is an approval of the full requested amount, with any last two digits. */
const isOtherApproval = (code: string): boolean => /^0\d\d$/.test(code);

/**
 * The facts if no answer came. The result is unknown; the platform reverses a sale and repeats
 * every other message. If the platform knows the cause, it replaces the `reason`: `ConnectionLost`,
 * `InvalidResponse`, or `Unanswered` after a restart.
 *
 * @example
 * const { reason } = noAnswer; // 'Timeout'
 */
export const noAnswer: ResponseFacts = {
  category: 'Unknown',
  reason: 'Timeout',
  retry: 'Later',
  approved: false,
  known: true,
};

const unknownCode: ResponseFacts = {
  category: 'Unknown',
  reason: 'GenericDecline',
  retry: 'OtherCard',
  approved: false,
  known: false,
};

/**
 * Facts besides the code that change its meaning.
 *
 * @example
 * const context: ResponseContext = { contactless: true };
 */
export type ResponseContext = {
  /** Whether the card was tapped: 65 then requests chip or PIN (strong customer authentication). */
  readonly contactless?: boolean;
  /** Whether the amount was zero: 85 then confirms the account. */
  readonly zeroAmount?: boolean;
};

/**
 * Returns the meaning of a response code. A code outside the table is not an approval, except codes
 * of 1993 that begin with 0.
 *
 * @param code - DE39 as received: two characters (1987) or three digits (1993)
 * @param context - the facts for the codes 65 and 85
 * @returns category, reason, retry advice and whether the code approves
 * @example
 * responseCodeFacts('65', { contactless: true }).reason; // 'PinOrChipRequired'
 */
export function responseCodeFacts(code: string, context: ResponseContext = {}): ResponseFacts {
  const equivalent = Object.hasOwn(actionCodes, code) ? actionCodes[code] : code;
  if (isOtherApproval(equivalent ?? code)) return otherApproval;
  if (equivalent === '85' && context.zeroAmount === true) return otherApproval;
  if (equivalent === '65' && context.contactless === true) {
    return pinOrChipRequired;
  }
  if (equivalent === undefined || !Object.hasOwn(responseCodes, equivalent)) return unknownCode;
  return responseCodes[equivalent] ?? unknownCode;
}
