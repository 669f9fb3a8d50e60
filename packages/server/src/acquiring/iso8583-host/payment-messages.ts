// Maps requests to ISO 8583:1987 fields, and response fields to outcomes. It performs no I/O.
import { defined, type EntryMode, responseCodeFacts } from '@switchyard/contract';
import { EmvError, parseIssuerResponse } from '@switchyard/emv';
import {
  builtInHosts,
  type CompiledHost,
  fitNumber,
  type HostTable,
  type Message,
  type OriginalMessage,
  type PaymentData,
  padIdentifier,
} from '@switchyard/iso8583';
import { alphaOf, numericOf } from '@switchyard/money';
import {
  type AcquirerData,
  type AcquirerOutcome,
  type AcquirerPin,
  type AcquirerReference,
  type AcquirerRequest,
  type AcquirerReversalReason,
  invalidResponse,
} from '../spi/acquirer-spi.ts';
import { checkApprovedAmount, safeIssuerData } from '../spi/check-outcome.ts';
import { readAssignedReference, selectRetrievalReference } from './retrieval-reference.ts';

const amountDigits = 12;
/** DE95: the first 12 digits are the remaining amount. */
const replacementAmountsField = 95;
const formatAmount = (minor: number) => String(minor).padStart(amountDigits, '0');

/** DE3. Follow-up messages keep the code of the sale; a refund always returns goods. */
const processingCodes = { purchase: '000000', cashback: '090000', refund: '200000' } as const;

function selectProcessingCode({ kind, amounts }: AcquirerRequest): string {
  if (kind === 'Refund') return processingCodes.refund;
  return amounts?.cashback === undefined ? processingCodes.purchase : processingCodes.cashback;
}

/** Amount types of DE54, under the default account. */
const amountTypes = { cashback: '40', tip: '44' } as const;

/** DE54: account and amount type, currency, sign, twelve digits, for each part. */
function formatAdditionalAmounts(request: AcquirerRequest): string | undefined {
  const { amounts, kind, currency } = request;
  // Only the first message of a transaction states the parts.
  const isFollowUp = kind === 'Capture' || kind === 'Refund' || kind === 'Reversal';
  if (amounts === undefined || isFollowUp) return undefined;
  const formatPart = (type: string, amount: number | undefined) =>
    amount === undefined ? '' : `00${type}${numericOf(currency)}D${formatAmount(amount)}`;
  const { cashback, tip } = amounts;
  return formatPart(amountTypes.cashback, cashback) + formatPart(amountTypes.tip, tip);
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

/** DE22 of mail and telephone orders: keyed, without PIN capability. */
const remoteOrderEntryMode = '012';

/** DE25. */
const conditionCodes = {
  normal: '00',
  moreToCome: '06',
  remoteOrder: '08',
  /** Card verification with a zero amount. */
  verification: '51',
} as const;

const traceDigits = 6;

/** DE90: MTI, STAN, time (DE7, or DE13 with DE12) and institution ids of the original message. */
function formatOriginalData(
  original: AcquirerReference,
  institutionId: string,
  { originalData }: RequestRules,
): string {
  const institution = institutionId.padStart(11, '0');
  const { transmittedAt, localDate, localTime } = original;
  const originalTime = originalData?.time === 'Local' ? localDate + localTime : transmittedAt;
  const stan = original.stan.padStart(traceDigits, '0').slice(-traceDigits);
  return original.mti + stan + originalTime + institution + '0'.repeat(11);
}

/** The numbers of the original that a host table can select. */
function describeOriginal(
  original: NonNullable<AcquirerRequest['original']>,
  approval: string | undefined,
  { messages: { fields }, retrievalReference: { assignedBy } }: RequestRules,
): OriginalMessage {
  const { mti, stan, localDate, localTime, terminalId, amount } = original;
  // Without a response the platform does not have the number that the host assigned.
  const assignedReference = original.rrnAssignedBy === 'Host' ? original.rrn : undefined;
  return {
    type: mti,
    stan: fitNumber(stan, fields[11]),
    date: localDate,
    time: localTime,
    terminal: terminalId,
    ...defined({
      rrn: assignedBy === 'Host' ? assignedReference : fitNumber(original.rrn, fields[37]),
      approval,
      amount: amount === undefined ? undefined : formatAmount(amount),
    }),
  };
}

/** Reversal reason as four-digit code of ISO 8583:1993; the host table maps it to the host's code. */
const reversalReasons: Readonly<Record<AcquirerReversalReason, string>> = {
  CustomerCancel: '4000',
  CardRemoved: '4004',
  InvalidResponse: '4020',
  Timeout: '4021',
  Suspect: '4007',
  ChipDeclined: '4351',
};

/** DE53: the format of the PIN block and the index of its key, two digits each. */
const formatSecurityControl = ({ format, keyIndex = '00' }: AcquirerPin) =>
  `0${format}${keyIndex}`.padEnd(16, '0');

const toRepeatMti = (mti: string) => mti.slice(0, 3) + String(Number(mti.slice(3)) + 1);

function selectConditionCode({ kind, amount, final, isRemoteOrder }: AcquirerRequest): string {
  if (kind === 'Authorization' && amount === 0) return conditionCodes.verification;
  // A capture states whether more will follow. DE22 states the remote order.
  if (kind === 'Capture') return final === true ? conditionCodes.normal : conditionCodes.moreToCome;
  return isRemoteOrder === true ? conditionCodes.remoteOrder : conditionCodes.normal;
}

/** DE48 subelement 82 requests address verification; subelement 83 has the result. */
const addressResultTag = '83';

/** DE48: subelement 82 is the address (postal code padded to nine, house number); subelement 92 is the CVV2. */
function formatPrivateData({ sensitive, addressCheck }: AcquirerRequest): string | undefined {
  const address = addressCheck && addressCheck.postalCode.padEnd(9, ' ') + addressCheck.houseNumber;
  const text = encodeSubelement('82', address) + encodeSubelement('92', sensitive?.securityCode);
  return text === '' ? undefined : text;
}

const authorizationCodeLength = 6;
const offlineApprovedCode = '00';

/** The parts of the host table for requests in canonical form. */
type RequestRules = Pick<HostTable, 'messages' | 'originalData' | 'retrievalReference'>;

/** Builds the message. Sensitive authentication data is only in the message. */
export function toIso8583Message(
  request: AcquirerRequest,
  institutionId: string,
  rules: RequestRules = builtInHosts['iso1987-binary'],
): Message {
  const { kind, reference, sensitive, original, reversalReason, remainingAmount } = request;
  const isReasoned = kind === 'Reversal' && reversalReason !== undefined;
  const fields: Message['fields'] = {
    2: request.card.pan,
    3: selectProcessingCode(request),
    4: formatAmount(request.amount),
    7: reference.transmittedAt,
    // The table can have changed since the number was allocated.
    11: fitNumber(reference.stan, rules.messages.fields[11]),
    12: reference.localTime,
    13: reference.localDate,
    14: request.card.expiry,
    18: request.mcc,
    22: request.isRemoteOrder === true ? remoteOrderEntryMode : entryModes[request.entryMode],
    23: request.panSequence?.padStart(3, '0'),
    25: isReasoned ? reversalReasons[reversalReason] : selectConditionCode(request),
    32: institutionId,
    35: sensitive?.track2,
    37: selectRetrievalReference(request, rules),
    38: request.authorizationCode?.padEnd(authorizationCodeLength, ' '),
    // DE39 in an advice distinguishes an offline sale from a capture.
    39: kind === 'OfflineSale' ? offlineApprovedCode : undefined,
    41: padIdentifier(reference.terminalId, rules.messages.fields[41]),
    42: padIdentifier(request.merchantNumber, rules.messages.fields[42]),
    48: formatPrivateData(request),
    49: numericOf(request.currency),
    52: sensitive?.pin?.block,
    53: sensitive?.pin && formatSecurityControl(sensitive.pin),
    54: formatAdditionalAmounts(request),
    55: request.chipData,
    90: original && formatOriginalData(original, institutionId, rules),
  };
  if (remainingAmount !== undefined)
    fields[replacementAmountsField] = formatAmount(remainingAmount).padEnd(42, '0');
  const mti = request.repeat ? toRepeatMti(reference.mti) : reference.mti;
  const { merchantName, merchantAddress, orderId } = request;
  return {
    mti,
    fields,
    data: defined({ merchantName, merchantAddress, orderId }),
    ...defined({
      original: original && describeOriginal(original, request.authorizationCode, rules),
    }),
  };
}

/** Returns the issuer data for the chip without echoed card data. Invalid data does not change the outcome. */
function parseIssuerData(de55: string | undefined, pan: string | undefined): string | undefined {
  if (de55 === undefined) return undefined;
  try {
    return safeIssuerData(parseIssuerResponse(de55).emvResponse, pan);
  } catch (error) {
    if (error instanceof EmvError) return undefined;
    throw error;
  }
}

/** Returns the AVS result if it is one letter. Hosts may use DE48 for other data. */
function parseAddressResult(de48: string | undefined): string | undefined {
  const letter = de48 === undefined ? undefined : readSubelement(de48, addressResultTag);
  return letter !== undefined && /^[A-Z]$/.test(letter) ? letter : undefined;
}

const balancePattern = /^[CD0]?[0-9]{1,15}$/;

/** Leaves out a text with the card number, and a balance that is not an amount. */
function parseAcquirerData(
  { receiptText, networkReference, balance }: PaymentData,
  pan: string | undefined,
): AcquirerData {
  const hasBalance = balance !== undefined && balancePattern.test(balance);
  const amount = hasBalance ? Number(balance.replace(/^[CD]/, '')) : undefined;
  return defined({
    receiptText: withoutCardNumber(receiptText, pan),
    networkReference: withoutCardNumber(networkReference, pan),
    balance: balance?.startsWith('D') === true && amount !== undefined ? -amount : amount,
  });
}

function withoutCardNumber(text: string | undefined, pan: string | undefined): string | undefined {
  const trimmed = text?.trim();
  const isUsable = trimmed !== '' && !(pan !== undefined && trimmed?.includes(pan));
  return isUsable ? trimmed : undefined;
}

/** The parts of the compiled host table for responses. */
export type ResponseRules = Pick<CompiledHost, 'table' | 'correlation'>;

/**
 * Returns the amount of the response. Without DE95, a host that expects the remaining amount in DE4
 * echoes it: this confirms the full requested amount.
 */
function responseAmount(
  request: Message,
  response: Message,
  {
    table: {
      replacement: { amountIs },
    },
  }: ResponseRules,
): number | undefined {
  const { 4: amountText, [replacementAmountsField]: replacement } = response.fields;
  if (amountText === undefined) return undefined;
  const remaining = request.fields[replacementAmountsField]?.slice(0, amountDigits);
  const repeatsSentAmount =
    amountIs === 'Remaining' &&
    remaining !== undefined &&
    replacement === undefined &&
    Number(amountText) === Number(remaining);
  return repeatsSentAmount ? Number(request.fields[4]) : Number(amountText);
}

/**
 * Maps a response to an outcome. An unknown response code never approves. A response that does not
 * match the request has the outcome `Unknown`, and the caller sends a reversal.
 */
export function toAcquirerOutcome(
  request: Message,
  response: Message,
  currency: string,
  rules: ResponseRules,
): AcquirerOutcome {
  const code = response.fields[39];
  if (code === undefined || !rules.correlation.echoesRequest(request, response))
    return invalidResponse;
  const responseCurrency = response.fields[49];
  if (responseCurrency !== undefined && alphaOf(responseCurrency) !== currency)
    return invalidResponse;
  const additionalData = defined({
    issuerData: parseIssuerData(response.fields[55], request.fields[2]),
    addressResult: parseAddressResult(response.fields[48]),
    acquirerData: response.data && parseAcquirerData(response.data, request.fields[2]),
    retrievalReference: readAssignedReference(response, rules.table.retrievalReference),
  });
  const requestedAmount = Number(request.fields[4]);
  const { approved, category } = responseCodeFacts(code, { zeroAmount: requestedAmount === 0 });
  if (!approved) return { outcome: 'Declined', responseCode: code, ...additionalData };
  const amount = checkApprovedAmount(
    requestedAmount,
    responseAmount(request, response, rules),
    category === 'PartiallyApproved',
  );
  if (amount === undefined) return invalidResponse;
  return {
    outcome: 'Approved',
    responseCode: code,
    amount,
    ...defined({ authorizationCode: response.fields[38] }),
    ...additionalData,
  };
}

/** Returns an empty string for an undefined text. */
export function encodeSubelement(tag: string, text: string | undefined): string {
  return text === undefined ? '' : `${tag}${String(text.length).padStart(2, '0')}${text}`;
}

/** Returns the text of the first subelement with the tag; undefined if missing or if the field is malformed. */
export function readSubelement(field: string, tag: string): string | undefined {
  for (let offset = 0; offset + 4 <= field.length; ) {
    const length = field.slice(offset + 2, offset + 4);
    const end = offset + 4 + Number(length);
    if (!/^\d\d$/.test(length) || end > field.length) return undefined;
    if (field.startsWith(tag, offset)) return field.slice(offset + 4, end);
    offset = end;
  }
  return undefined;
}
