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
export type SpiRequest = { path: SpiPath; message: SpiMessage };

const pathByKind: Readonly<Record<AcquirerRequestKind, SpiPath>> = {
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

function commonMembers(request: AcquirerRequest, institutionId: string, sentAt: string) {
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

function cardMembers({ card, panSequence, sensitive }: AcquirerRequest): SpiPayment['card'] {
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

function offlineMembers({ authorizedAt, authorizationCode }: AcquirerRequest) {
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
    card: cardMembers(request),
    ...offlineMembers(request),
    ...defined({
      pin: sensitive?.pin === undefined ? undefined : sensitive.pin,
      chipData,
      amounts,
      addressCheck,
    }),
  };
}

function followUpMembers({ transactionId, original, authorizationCode }: AcquirerRequest) {
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
): SpiRequest {
  const head = commonMembers(request, institutionId, sentAt);
  const path = pathByKind[request.kind];
  switch (request.kind) {
    case 'Authorization':
    case 'Sale':
    case 'OfflineSale':
      return { path, message: { ...head, ...paymentMembers(request, request.kind) } };
    case 'Capture': {
      const final = request.final ?? false;
      return { path, message: { ...head, ...followUpMembers(request), final } };
    }
    case 'Refund':
      return { path, message: { ...head, ...followUpMembers(request) } };
    case 'Reversal': {
      return {
        path,
        message: { ...head, ...followUpMembers(request), ...reversalMembers(request) },
      };
    }
  }
}

/** A response with a valid signature and schema. */
export type VerifiedResponse = { status: number; response: SpiAnswer };

const partialApprovalCode = '10';
const formatErrorCode = '30';
const overloadStatuses: ReadonlySet<number> = new Set([429, 503]);
const invalidResponse: AcquirerOutcome = { outcome: 'Unknown', reason: 'InvalidResponse' };

const cardNumberOf = (message: SpiMessage) => ('card' in message ? message.card.number : undefined);

function additionalMembers(
  { issuerData, addressResult }: SpiAnswer,
  cardNumber: string | undefined,
) {
  // Issuer data that contains the card number is left out.
  const hasSafeIssuerData =
    issuerData !== undefined && !(cardNumber && issuerData.includes(cardNumber));
  return {
    ...(hasSafeIssuerData ? { issuerData } : {}),
    ...defined({ addressResult }),
  };
}

function toApprovedOutcome(
  { path, message: asked }: SpiRequest,
  response: SpiAnswer,
  responseCode: string,
): AcquirerOutcome {
  const { authorizationCode, currency } = response;
  if (currency !== undefined && currency !== asked.currency) return invalidResponse;
  // A partial approval without an amount is invalid.
  if (responseCode === partialApprovalCode && response.amount === undefined) return invalidResponse;
  // A second reversal reverses amount 0 and still counts as approved.
  const namedAmount = path === '/v1/reversals' ? undefined : response.amount;
  const amount = namedAmount ?? asked.amount;
  if (amount > asked.amount || (amount === 0 && asked.amount > 0)) return invalidResponse;
  if (amount !== asked.amount && responseCode !== partialApprovalCode) return invalidResponse;
  return {
    outcome: 'Approved',
    responseCode,
    amount,
    ...defined({ authorizationCode }),
    ...additionalMembers(response, cardNumberOf(asked)),
  };
}

/**
 * Maps a response to an outcome, or to `Pending`. An unknown response code never approves. A response
 * to another message has the outcome `Unknown`, and the caller sends a reversal.
 */
export function toSpiOutcome(
  request: SpiRequest,
  { status, response: answer }: VerifiedResponse,
): AcquirerOutcome | 'Pending' {
  const { message } = request;
  if (answer.messageId !== message.messageId) return invalidResponse;
  const isHttpError = status >= 400 && status < 600;
  if (answer.outcome === 'NotProcessed' && isHttpError) {
    if (overloadStatuses.has(status))
      return { outcome: 'NotSent', reason: 'the acquirer rejects new requests' };
    return { outcome: 'Declined', responseCode: formatErrorCode };
  }
  if (isHttpError) return invalidResponse;
  if (answer.outcome === 'Pending') return 'Pending';
  const responseCode = answer.responseCode;
  if (responseCode === undefined) return invalidResponse;
  const { approved, known } = responseCodeFacts(responseCode, { zeroAmount: message.amount === 0 });
  if (answer.outcome === 'Declined' && !approved) {
    const explicitDecline = known ? {} : ({ isExplicitDecline: true } as const);
    const additionalData = additionalMembers(answer, cardNumberOf(message));
    return {
      outcome: 'Declined',
      responseCode,
      ...explicitDecline,
      ...additionalData,
    };
  }
  if (answer.outcome === 'Approved' && approved)
    return toApprovedOutcome(request, answer, responseCode);
  return invalidResponse;
}
