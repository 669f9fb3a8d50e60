// Turns a request into ISO 8583:1987 fields and an answer's fields into an outcome; no socket here.
import { defined, responseCodeFacts } from '@switchyard/contract';
import { EmvError, parseIssuerResponse } from '@switchyard/emv';
import type { Message } from '@switchyard/iso8583';
import { alphaOf, numericOf } from '@switchyard/money';
import type {
  AcquirerOutcome,
  AcquirerPin,
  AcquirerReference,
  AcquirerRequest,
  AcquirerRequestKind,
  AcquirerReversalReason,
  EntryMode,
} from '../spi/acquirer-spi.ts';
import { readSubelement, subelement } from './private-data-subelements.ts';

const messageTypes: Readonly<Record<AcquirerRequestKind, string>> = {
  Authorization: '0100',
  Sale: '0200',
  OfflineSale: '0220',
  Capture: '0220',
  Refund: '0200',
  Reversal: '0420',
};

/** The message type that a kind of request travels under, without the repeat digit. */
export function messageTypeOf(kind: AcquirerRequestKind): string {
  return messageTypes[kind];
}

const processingCodes: Readonly<Record<AcquirerRequestKind, string>> = {
  Authorization: '000000',
  Sale: '000000',
  OfflineSale: '000000',
  Capture: '000000',
  Refund: '200000',
  Reversal: '000000',
};

const amountDigits = 12;
/** DE95: what stays of the original, in its first digits. */
const replacementField = 95;
const amountField = (minor: number) => String(minor).padStart(amountDigits, '0');

/** Goods and cash: its followers keep the code of the sale. */
const cashbackCode = '090000';

function processingCodeOf({ kind, amounts }: AcquirerRequest): string {
  return amounts?.cashback !== undefined && kind !== 'Refund'
    ? cashbackCode
    : processingCodes[kind];
}

/** Amount types of DE54, under the default account. */
const amountTypes = { cashback: '40', tip: '44' } as const;

/** Begins a transaction at the host; what follows names it. */
function isFirst(kind: AcquirerRequestKind): boolean {
  return kind === 'Sale' || kind === 'Authorization' || kind === 'OfflineSale';
}

/** DE54: account and amount type, currency, sign, twelve digits, for each part. */
function additionalAmounts({ kind, amounts, currency }: AcquirerRequest): string | undefined {
  if (amounts === undefined || !isFirst(kind)) return undefined;
  const parts = (['cashback', 'tip'] as const).flatMap((name) => {
    const minor = amounts[name];
    if (minor === undefined) return [];
    return [`00${amountTypes[name]}${numericOf(currency)}D${amountField(minor)}`];
  });
  return parts.join('');
}

/** DE22, first two digits; the third says that the terminal can take a PIN. */
const entryModes: Readonly<Record<EntryMode, string>> = {
  ContactChip: '051',
  ContactlessChip: '071',
  MagStripe: '901',
  ContactlessMagStripe: '911',
  FallbackMagStripe: '801',
  Keyed: '011',
};

/** By mail or telephone nobody stands at a terminal: it takes no PIN. */
const remoteOrderMode = '012';

const conditionNormal = '00';
const conditionMoreToCome = '06';
const conditionRemoteOrder = '08';
/** Nothing is asked for but whether the card is good. */
const conditionVerification = '51';

/** Which of its times names an original at the host. */
export type OriginalTime = 'Transmission' | 'Local';

/** DE90: what the original was, its message type, trace, time and institutions. */
export function originalData(
  original: AcquirerReference,
  institutionId: string,
  by: OriginalTime = 'Transmission',
): string {
  const institution = institutionId.padStart(11, '0');
  const { transmittedAt, localDate, localTime } = original;
  const sent = by === 'Local' ? localDate + localTime : transmittedAt;
  return original.mti + original.stan + sent + institution + '0'.repeat(11);
}

/** DE25 of a reversal, in the words of 1993: four digits, which a table turns into the host's own. */
const reversalReasons: Readonly<Record<AcquirerReversalReason, string>> = {
  CustomerCancel: '4000',
  CardRemoved: '4004',
  InvalidResponse: '4020',
  Timeout: '4021',
  Suspect: '4007',
  ChipDeclined: '4351',
};

/** DE53: the format of the PIN block and the index of its key, two digits each. */
const securityControl = ({ format, keyIndex = '00' }: AcquirerPin) =>
  `0${format}${keyIndex}`.padEnd(16, '0');

function repeated(mti: string): string {
  return mti.slice(0, 3) + String(Number(mti.slice(3)) + 1);
}

function conditionOf({ kind, amount, final, isRemoteOrder }: AcquirerRequest): string {
  if (kind === 'Authorization' && amount === 0) return conditionVerification;
  if (kind === 'Capture' && final !== true) return conditionMoreToCome;
  return isRemoteOrder === true ? conditionRemoteOrder : conditionNormal;
}

/** Address verification asks in subelement 82 of DE48 and is answered in 83. */
const addressResultTag = '83';

/** CVV2 travels as subelement 92 of DE48, an address as 82: nine places of postal code, the house. */
function privateData({ sensitive, addressCheck }: AcquirerRequest): string {
  const address = addressCheck && addressCheck.postalCode.padEnd(9, ' ') + addressCheck.houseNumber;
  return subelement('82', address) + subelement('92', sensitive?.securityCode);
}

const approvalCodeLength = 6;
const approvedOffline = '00';

/** The request as a message. Sensitive members go into the bytes and nowhere else. */
export function toMessage(
  request: AcquirerRequest,
  institutionId: string,
  originalTime?: OriginalTime,
): Message {
  const { reference, sensitive } = request;
  const fields: Message['fields'] = {
    2: request.card.pan,
    3: processingCodeOf(request),
    4: amountField(request.amount),
    7: reference.transmittedAt,
    11: reference.stan,
    12: reference.localTime,
    13: reference.localDate,
    14: request.card.expiry,
    18: request.mcc,
    22: request.isRemoteOrder === true ? remoteOrderMode : entryModes[request.entryMode],
    25: conditionOf(request),
    32: institutionId,
    37: reference.rrn,
    41: reference.terminalId,
    42: request.merchantNumber.padEnd(15, ' '),
    49: numericOf(request.currency),
  };
  if (request.panSequence !== undefined) fields[23] = request.panSequence.padStart(3, '0');
  if (request.kind === 'Reversal' && request.reversalReason !== undefined) {
    fields[25] = reversalReasons[request.reversalReason];
  }
  if (sensitive?.track2 !== undefined) fields[35] = sensitive.track2;
  if (sensitive?.pin !== undefined) {
    fields[52] = sensitive.pin.block;
    fields[53] = securityControl(sensitive.pin);
  }
  if (request.authorizationCode !== undefined) {
    fields[38] = request.authorizationCode.padEnd(approvalCodeLength, ' ');
  }
  // An advice that says how the terminal has decided: by it the host tells it from a capture.
  if (request.kind === 'OfflineSale') fields[39] = approvedOffline;
  const inPrivate = privateData(request);
  if (inPrivate !== '') fields[48] = inPrivate;
  const parts = additionalAmounts(request);
  if (parts !== undefined) fields[54] = parts;
  if (request.chipData !== undefined) fields[55] = request.chipData;
  if (request.original !== undefined) {
    fields[90] = originalData(request.original, institutionId, originalTime);
  }
  if (request.remainingAmount !== undefined) {
    fields[replacementField] = amountField(request.remainingAmount).padEnd(42, '0');
  }
  return { mti: request.repeat ? repeated(reference.mti) : reference.mti, fields };
}

/** A request and its answer share the terminal (DE41) and the trace (DE11). */
export function correlationKey(message: Message): string {
  return `${message.mti.slice(0, 2)}|${message.fields[41] ?? ''}|${message.fields[11] ?? ''}`;
}

const echoedFields = [3, 11, 41] as const;

/** The type of an answer: that of its request with the next function digit, whatever its origin. */
function answers(request: Message, answer: Message): boolean {
  const expected = request.mti.slice(0, 2) + String(Number(request.mti[2]) + 1);
  return answer.mti.slice(0, 3) === expected;
}

function echoes(request: Message, answer: Message): boolean {
  if (!answers(request, answer)) return false;
  const reference = answer.fields[37];
  if (reference !== undefined && reference !== request.fields[37]) return false;
  for (const field of echoedFields) {
    if (answer.fields[field] !== request.fields[field]) return false;
  }
  return (answer.fields[42] ?? '').trimEnd() === (request.fields[42] ?? '').trimEnd();
}

/**
 * What the issuer says to the chip, and nothing else: a host may echo card data beside it. What the
 * chip could not read changes nothing about the money, so it is only left out.
 */
function chipAnswer(de55: string | undefined, pan: string | undefined): { issuerData?: string } {
  if (de55 === undefined) return {};
  try {
    const { emvResponse } = parseIssuerResponse(de55);
    const repeatsCard = pan !== undefined && emvResponse.includes(pan);
    return emvResponse === '' || repeatsCard ? {} : { issuerData: emvResponse };
  } catch (error) {
    if (error instanceof EmvError) return {};
    throw error;
  }
}

/** One letter, or nothing: a host may send what it likes in its private field. */
function addressAnswer(de48: string | undefined): { addressResult?: string } {
  const letter = de48 === undefined ? undefined : readSubelement(de48, addressResultTag);
  return letter !== undefined && /^[A-Z]$/.test(letter) ? { addressResult: letter } : {};
}

/** What DE4 of a partial reversal holds on the wire of a host: what is taken back, or what stays. */
type ReversedAmount = 'Reversed' | 'Remaining';

/**
 * The amount that an answer names. One that leaves out the replacement repeats DE4 as it stood on the
 * wire, where it may say what stays: that names all of what was asked too.
 */
function amountIn(request: Message, answer: Message, amountIs: ReversedAmount): number {
  const asked = Number(request.fields[4]);
  const named = Number(answer.fields[4] ?? asked);
  const remaining = request.fields[replacementField]?.slice(0, amountDigits);
  const repeatsWire =
    amountIs === 'Remaining' &&
    remaining !== undefined &&
    answer.fields[replacementField] === undefined;
  return repeatsWire && named === Number(remaining) ? asked : named;
}

/**
 * What an answer means. A code that nobody knows never approves; an answer that does not echo what
 * was asked is no answer, so its outcome is unknown and the caller reverses.
 */
export function outcomeOf(
  request: Message,
  answer: Message,
  currency: string,
  amountIs: ReversedAmount = 'Reversed',
): AcquirerOutcome {
  const code = answer.fields[39];
  if (code === undefined || !echoes(request, answer)) return invalid;
  const answered = answer.fields[49];
  if (answered !== undefined && alphaOf(answered) !== currency) return invalid;
  const beside = {
    ...chipAnswer(answer.fields[55], request.fields[2]),
    ...addressAnswer(answer.fields[48]),
  };
  const asked = Number(request.fields[4]);
  const { approved, category } = responseCodeFacts(code, { zeroAmount: asked === 0 });
  const isPart = category === 'PartiallyApproved';
  if (!approved) return { outcome: 'Declined', responseCode: code, ...beside };
  // A part that is not named could be any part.
  if (isPart && answer.fields[4] === undefined) return invalid;
  const amount = amountIn(request, answer, amountIs);
  if (!Number.isSafeInteger(amount) || amount > asked || amount < 0) return invalid;
  if (amount === 0 && asked > 0) return invalid;
  if (amount !== asked && !isPart) return invalid;
  const authorizationCode = answer.fields[38];
  return {
    outcome: 'Approved',
    responseCode: code,
    amount,
    ...defined({ authorizationCode }),
    ...beside,
  };
}

const invalid: AcquirerOutcome = { outcome: 'Unknown', reason: 'InvalidResponse' };
