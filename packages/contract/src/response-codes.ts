/** DE39 response codes of acquirer hosts, and their meaning for the platform. */

/**
 * The categories of responses.
 *
 * - `SoftDecline`: another way or another time may succeed.
 * - `HardDecline`: another attempt will not succeed.
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
 * What a terminal can try next.
 *
 * - `Never`: not this request again.
 * - `Later`: the same request later.
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

const approval = (category: 'Approved' | 'PartiallyApproved'): ResponseFacts => ({
  category,
  reason: category,
  approved: true,
  known: true,
});

const answer =
  (category: ResponseCategory) =>
  (reason: string, retry: DeclineRetryAdvice): ResponseFacts => ({
    category,
    reason,
    retry,
    approved: false,
    known: true,
  });

const soft = answer('SoftDecline');
const hard = answer('HardDecline');
const technical = answer('TechnicalFailure');

/**
 * The two-character codes of ISO 8583:1987 as acquirers use them.
 *
 * Source: ISO 8583:1987, data element 39, with the additions of the card schemes (1A, 5C, 6P, 70 to
 * 89, 9G, Nx, Q1, Rx, Z3).
 *
 * @example
 * responseCodes['54']?.reason; // 'ExpiredCard'
 */
export const responseCodes: Readonly<Record<string, ResponseFacts>> = {
  '00': approval('Approved'),
  '01': hard('ReferToIssuer', 'OtherCard'),
  '02': hard('ReferToIssuer', 'OtherCard'),
  '03': hard('InvalidMerchant', 'Never'),
  '04': hard('PickUpCard', 'OtherCard'),
  '05': soft('DoNotHonor', 'Later'),
  '06': technical('ProcessingError', 'Later'),
  '07': hard('PickUpCard', 'OtherCard'),
  '08': approval('Approved'),
  '09': technical('ProcessingError', 'Later'),
  '10': approval('PartiallyApproved'),
  '11': approval('Approved'),
  '12': hard('InvalidTransaction', 'Never'),
  '13': hard('InvalidAmount', 'Never'),
  '14': hard('InvalidCardNumber', 'OtherCard'),
  '15': hard('InvalidCardNumber', 'OtherCard'),
  '17': soft('NoActionTaken', 'Never'),
  '19': technical('TryAgain', 'Later'),
  '1A': soft('PinOrChipRequired', 'WithPin'),
  '21': soft('NoActionTaken', 'Never'),
  '23': hard('InvalidTransaction', 'Never'),
  '25': technical('OriginalNotFound', 'Never'),
  '26': technical('DuplicateTransaction', 'Never'),
  '30': technical('FormatError', 'Never'),
  '31': hard('InvalidCardNumber', 'OtherCard'),
  '33': hard('ExpiredCard', 'OtherCard'),
  '34': hard('SuspectedFraud', 'OtherCard'),
  '35': hard('ReferToIssuer', 'OtherCard'),
  '36': hard('RestrictedCard', 'OtherCard'),
  '37': hard('SuspectedFraud', 'OtherCard'),
  '38': hard('PinTriesExceeded', 'OtherCard'),
  '39': hard('AccountTypeInvalid', 'OtherCard'),
  '40': hard('NotPermittedToTerminal', 'Never'),
  '41': hard('LostCard', 'OtherCard'),
  '42': hard('AccountTypeInvalid', 'OtherCard'),
  '43': hard('StolenCard', 'OtherCard'),
  '44': hard('AccountTypeInvalid', 'OtherCard'),
  '46': hard('ClosedAccount', 'OtherCard'),
  '51': soft('InsufficientFunds', 'Later'),
  '52': hard('AccountTypeInvalid', 'OtherCard'),
  '53': hard('AccountTypeInvalid', 'OtherCard'),
  '54': hard('ExpiredCard', 'OtherCard'),
  '55': soft('InvalidPin', 'WithPin'),
  '56': hard('InvalidCardNumber', 'OtherCard'),
  '57': hard('NotPermittedToCardholder', 'OtherCard'),
  '58': hard('NotPermittedToTerminal', 'Never'),
  '59': hard('SuspectedFraud', 'OtherCard'),
  '60': hard('ReferToIssuer', 'OtherCard'),
  '5C': hard('NotPermittedToCardholder', 'OtherCard'),
  '61': soft('ExceedsAmountLimit', 'OtherCard'),
  '62': hard('RestrictedCard', 'OtherCard'),
  '63': hard('SecurityViolation', 'Never'),
  '64': hard('InvalidAmount', 'Never'),
  '65': soft('ExceedsCountLimit', 'OtherInterface'),
  '66': hard('SuspectedFraud', 'OtherCard'),
  '67': hard('PickUpCard', 'OtherCard'),
  '6P': hard('GenericDecline', 'OtherCard'),
  '68': technical('Timeout', 'Later'),
  '70': soft('PinOrChipRequired', 'WithPin'),
  '71': hard('GenericDecline', 'OtherCard'),
  '74': hard('GenericDecline', 'OtherCard'),
  '75': hard('PinTriesExceeded', 'OtherCard'),
  '76': hard('GenericDecline', 'OtherCard'),
  // 77 is not in the table, because hosts give it two meanings: an account fault, or a mismatch
  // with an earlier message.
  '78': hard('GenericDecline', 'OtherCard'),
  '79': hard('GenericDecline', 'OtherCard'),
  '80': hard('GenericDecline', 'OtherCard'),
  '81': soft('PinNotVerifiable', 'Later'),
  '82': hard('CvvFailed', 'OtherCard'),
  '83': soft('PinNotVerifiable', 'Later'),
  '84': hard('InvalidTransaction', 'Never'),
  '86': soft('PinNotVerifiable', 'Later'),
  '88': hard('SecurityViolation', 'Never'),
  '89': soft('InvalidPin', 'WithPin'),
  '90': technical('IssuerUnavailable', 'Later'),
  '91': technical('IssuerUnavailable', 'Later'),
  '92': technical('IssuerUnavailable', 'Later'),
  '93': hard('NotPermittedToCardholder', 'OtherCard'),
  '94': technical('DuplicateTransaction', 'Never'),
  '95': technical('ReconciliationError', 'Never'),
  '96': technical('SystemMalfunction', 'Later'),
  '9G': hard('RestrictedCard', 'OtherCard'),
  N0: technical('IssuerUnavailable', 'Later'),
  N3: hard('NotPermittedToCardholder', 'OtherCard'),
  N4: soft('ExceedsAmountLimit', 'OtherCard'),
  N5: hard('InvalidTransaction', 'Never'),
  N7: hard('CvvFailed', 'OtherCard'),
  N8: hard('InvalidAmount', 'Never'),
  Q1: hard('CardAuthenticationFailed', 'OtherCard'),
  R0: hard('Revoked', 'Never'),
  R1: hard('Revoked', 'Never'),
  R3: hard('Revoked', 'Never'),
  Z3: soft('IssuerUnavailable', 'Later'),
};

/**
 * Maps three-digit action codes of ISO 8583:1993 to the 1987 code with the same meaning; 2xx are
 * 1xx with pick-up.
 *
 * @example
 * actionCodes['116']; // '51'
 */
export const actionCodes: Readonly<Record<string, string>> = {
  '000': '00',
  '001': '08',
  '002': '10',
  '003': '11',
  '004': '00',
  '005': '00',
  '006': '10',
  '007': '00',
  '100': '05',
  '101': '54',
  '102': '59',
  '103': '60',
  '104': '62',
  '105': '66',
  '106': '75',
  '107': '01',
  '108': '02',
  '109': '03',
  '110': '13',
  '111': '14',
  '112': '70',
  '113': '23',
  '114': '53',
  '115': '40',
  '116': '51',
  '117': '55',
  '118': '56',
  '119': '57',
  '120': '58',
  '121': '61',
  '122': '63',
  '123': '65',
  '124': '93',
  '125': '14',
  '126': '81',
  '127': '81',
  '128': '81',
  '129': '59',
  '200': '04',
  '201': '33',
  '202': '34',
  '203': '35',
  '204': '36',
  '205': '37',
  '206': '38',
  '207': '07',
  '208': '41',
  '209': '43',
  '210': '34',
  // The host accepted the advice with liability. 900 means without liability, so it is unknown.
  '901': '00',
  '902': '12',
  '903': '19',
  '904': '30',
  '905': '58',
  '906': '90',
  '907': '91',
  '908': '92',
  '909': '96',
  '910': '91',
  '911': '68',
  '912': '91',
  '913': '94',
  '914': '25',
  // A fault of keys or of counting: the host did not examine the request.
  '915': '96',
  '916': '96',
  '917': '96',
  '918': '96',
  '919': '96',
  '920': '96',
  '921': '96',
  '922': '96',
  '923': '09',
};

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
  if (isOtherApproval(equivalent ?? code)) return approval('Approved');
  if (equivalent === '85' && context.zeroAmount === true) return approval('Approved');
  if (equivalent === '65' && context.contactless === true) {
    return soft('PinOrChipRequired', 'OtherInterface');
  }
  if (equivalent === undefined || !Object.hasOwn(responseCodes, equivalent)) return unknownCode;
  return responseCodes[equivalent] ?? unknownCode;
}
