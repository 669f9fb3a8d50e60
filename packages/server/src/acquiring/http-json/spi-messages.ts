// Maps requests to SPI messages, and SPI responses to outcomes. It performs no I/O.
import {
  defined,
  responseCodeFacts,
  type SpiAnswer,
  type SpiCapture,
  type SpiPath,
  type SpiPayment,
  type SpiRefund,
  type SpiReversal,
} from '@switchyard/contract';
import type {
  AcquirerOutcome,
  AcquirerReference,
  AcquirerRequest,
  AcquirerRequestKind,
} from '../spi/acquirer-spi.ts';

export type SpiMessage = SpiPayment | SpiCapture | SpiRefund | SpiReversal;

/** A message and its path. The path distinguishes a reversal from a refund. */
export type SpiAsked = { path: SpiPath; message: SpiMessage };

const paths: Readonly<Record<AcquirerRequestKind, SpiPath>> = {
  Authorization: '/v1/payments',
  Sale: '/v1/payments',
  OfflineSale: '/v1/payments',
  Capture: '/v1/captures',
  Refund: '/v1/refunds',
  Reversal: '/v1/reversals',
};

/** Transaction id and RRN are unique together: a transaction uses one terminal with increasing RRNs. */
const messageIdOf = (transactionId: string, { rrn }: AcquirerReference) =>
  `${transactionId}-${rrn}`;

function headOf(request: AcquirerRequest, institutionId: string, sentAt: string) {
  const { reference, transactionId } = request;
  return {
    messageId: messageIdOf(transactionId, reference),
    repeat: request.repeat,
    transactionId,
    sentAt,
    institutionId,
    merchantId: request.merchantNumber,
    mcc: request.mcc,
    terminalId: reference.terminalId,
    traceNumber: reference.stan,
    retrievalReference: reference.rrn,
    localTime: reference.localTime,
    localDate: reference.localDate,
    amount: request.amount,
    currency: request.currency,
  };
}

function cardOf({ card, panSequence, sensitive }: AcquirerRequest): SpiPayment['card'] {
  return {
    number: card.pan,
    expiry: card.expiry,
    ...defined({
      sequence: panSequence,
      track2: sensitive?.track2 === undefined ? undefined : sensitive.track2,
      securityCode: sensitive?.securityCode === undefined ? undefined : sensitive.securityCode,
    }),
  };
}

function offlineOf({ authorizedAt, authorizationCode }: AcquirerRequest) {
  if (authorizedAt === undefined) return {};
  const code = defined({ authorizationCode });
  return { offline: { authorizedAt, ...code } };
}

function paymentMembers(request: AcquirerRequest, kind: SpiPayment['kind']) {
  const { chipData, amounts, addressCheck, sensitive } = request;
  return {
    kind,
    entryMode: request.entryMode,
    isRemoteOrder: request.isRemoteOrder ?? false,
    card: cardOf(request),
    ...offlineOf(request),
    ...defined({
      pin: sensitive?.pin === undefined ? undefined : sensitive.pin,
      chipData,
      amounts,
      addressCheck,
    }),
  };
}

function followMembers({ transactionId, original, authorizationCode }: AcquirerRequest) {
  if (original === undefined)
    throw new Error('a capture, refund or reversal requires the original reference');
  return {
    original: messageIdOf(transactionId, original),
    ...defined({ authorizationCode }),
  };
}

function reversalMembers({ remainingAmount, reversalReason, chipData }: AcquirerRequest) {
  return defined({ remainingAmount, reason: reversalReason, chipData });
}

/** Builds path and message. Only payments contain card data. */
export function toSpiMessage(
  request: AcquirerRequest,
  institutionId: string,
  sentAt: string,
): SpiAsked {
  const head = headOf(request, institutionId, sentAt);
  const path = paths[request.kind];
  switch (request.kind) {
    case 'Authorization':
    case 'Sale':
    case 'OfflineSale':
      return { path, message: { ...head, ...paymentMembers(request, request.kind) } };
    case 'Capture': {
      const final = request.final ?? false;
      return { path, message: { ...head, ...followMembers(request), final } };
    }
    case 'Refund':
      return { path, message: { ...head, ...followMembers(request) } };
    case 'Reversal': {
      return { path, message: { ...head, ...followMembers(request), ...reversalMembers(request) } };
    }
  }
}

/** A response with a valid signature and schema. */
export type GenuineAnswer = { status: number; answer: SpiAnswer };

const partialCode = '10';
const formatError = '30';
const overloaded: ReadonlySet<number> = new Set([429, 503]);
const invalid: AcquirerOutcome = { outcome: 'Unknown', reason: 'InvalidResponse' };

const cardOfAsked = (message: SpiMessage) => ('card' in message ? message.card.number : undefined);

function besideOf({ issuerData, addressResult }: SpiAnswer, cardNumber: string | undefined) {
  // Issuer data that contains the card number is left out.
  const isClean = issuerData !== undefined && !(cardNumber && issuerData.includes(cardNumber));
  return {
    ...(isClean ? { issuerData } : {}),
    ...defined({ addressResult }),
  };
}

function approvedOutcome(
  { path, message: asked }: SpiAsked,
  answer: SpiAnswer,
  code: string,
): AcquirerOutcome {
  const { authorizationCode, currency } = answer;
  if (currency !== undefined && currency !== asked.currency) return invalid;
  // A partial approval without an amount is invalid.
  if (code === partialCode && answer.amount === undefined) return invalid;
  // A second reversal reverses amount 0 and still counts as approved.
  const told = path === '/v1/reversals' ? undefined : answer.amount;
  const amount = told ?? asked.amount;
  if (amount > asked.amount || (amount === 0 && asked.amount > 0)) return invalid;
  if (amount !== asked.amount && code !== partialCode) return invalid;
  return {
    outcome: 'Approved',
    responseCode: code,
    amount,
    ...defined({ authorizationCode }),
    ...besideOf(answer, cardOfAsked(asked)),
  };
}

/**
 * Maps a response to an outcome, or to `Pending`. An unknown response code never approves. A response
 * to another message has the outcome `Unknown`, and the caller sends a reversal.
 */
export function spiOutcomeOf(
  asked: SpiAsked,
  { status, answer }: GenuineAnswer,
): AcquirerOutcome | 'Pending' {
  const { message } = asked;
  if (answer.messageId !== message.messageId) return invalid;
  const isRefused = status >= 400 && status < 600;
  if (answer.outcome === 'NotProcessed' && isRefused) {
    if (overloaded.has(status))
      return { outcome: 'NotSent', reason: 'the acquirer rejects new requests' };
    return { outcome: 'Declined', responseCode: formatError };
  }
  if (isRefused) return invalid;
  if (answer.outcome === 'Pending') return 'Pending';
  const code = answer.responseCode;
  if (code === undefined) return invalid;
  const { approved, known } = responseCodeFacts(code, { zeroAmount: message.amount === 0 });
  if (answer.outcome === 'Declined' && !approved) {
    const plain = known ? {} : ({ isPlain: true } as const);
    const beside = besideOf(answer, cardOfAsked(message));
    return { outcome: 'Declined', responseCode: code, ...plain, ...beside };
  }
  if (answer.outcome === 'Approved' && approved) return approvedOutcome(asked, answer, code);
  return invalid;
}
