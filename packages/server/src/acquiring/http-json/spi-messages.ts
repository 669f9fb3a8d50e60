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
import {
  type AcquirerOutcome,
  type AcquirerReference,
  type AcquirerRequest,
  type AcquirerRequestKind,
  invalidResponse,
} from '../spi/acquirer-spi.ts';
import { checkApprovedAmount, safeIssuerData } from '../spi/check-outcome.ts';
import type { VerifiedResponse } from './signed-exchange.ts';

type SpiMessage = SpiPayment | SpiCapture | SpiRefund | SpiReversal;

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

function paymentMembers(request: AcquirerRequest, kind: SpiPayment['kind']) {
  const { card, panSequence, chipData, amounts, addressCheck, sensitive } = request;
  const { authorizedAt, authorizationCode } = request;
  const { track2, securityCode, pin } = sensitive ?? {};
  return {
    kind,
    entryMode: request.entryMode,
    isRemoteOrder: request.isRemoteOrder ?? false,
    card: {
      number: card.pan,
      expiry: card.expiry,
      ...defined({ sequence: panSequence, track2, securityCode }),
    },
    ...defined({
      offline:
        authorizedAt === undefined
          ? undefined
          : { authorizedAt, ...defined({ authorizationCode }) },
      pin,
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

/** Builds path and message. Only payments contain card data. */
export function toSpiMessage(
  request: AcquirerRequest,
  institutionId: string,
  sentAt: string,
): SpiRequest {
  const common = commonMembers(request, institutionId, sentAt);
  const path = pathByKind[request.kind];
  const { kind, final = false, remainingAmount, reversalReason, chipData } = request;
  if (kind === 'Authorization' || kind === 'Sale' || kind === 'OfflineSale')
    return { path, message: { ...common, ...paymentMembers(request, kind) } };
  const message = { ...common, ...followUpMembers(request) };
  if (kind === 'Capture') return { path, message: { ...message, final } };
  if (kind === 'Refund') return { path, message };
  const reversal = defined({ remainingAmount, reason: reversalReason, chipData });
  return { path, message: { ...message, ...reversal } };
}

const partialApprovalCode = '10';
const formatErrorCode = '30';
const overloadStatuses: ReadonlySet<number> = new Set([429, 503]);

function additionalMembers({ issuerData, addressResult }: SpiAnswer, message: SpiMessage) {
  const cardNumber = 'card' in message ? message.card.number : undefined;
  return defined({ issuerData: safeIssuerData(issuerData, cardNumber), addressResult });
}

function toApprovedOutcome(
  { path, message }: SpiRequest,
  response: SpiAnswer,
  responseCode: string,
): AcquirerOutcome {
  const { authorizationCode, currency } = response;
  if (currency !== undefined && currency !== message.currency) return invalidResponse;
  const isPartial = responseCode === partialApprovalCode;
  // A second reversal reverses amount 0 and still counts as approved.
  const isReversal = path === '/v1/reversals' && response.amount !== undefined;
  const approvedAmount = isReversal ? message.amount : response.amount;
  const amount = checkApprovedAmount(message.amount, approvedAmount, isPartial);
  if (amount === undefined) return invalidResponse;
  return {
    outcome: 'Approved',
    responseCode,
    amount,
    ...defined({ authorizationCode }),
    ...additionalMembers(response, message),
  };
}

/**
 * Maps a response to an outcome, or to `Pending`. An unknown response code never approves. A response
 * to another message has the outcome `Unknown`, and the caller sends a reversal.
 */
export function toSpiOutcome(
  request: SpiRequest,
  { status, body }: VerifiedResponse,
): AcquirerOutcome | 'Pending' {
  const { message } = request;
  const { outcome, responseCode } = body;
  if (body.messageId !== message.messageId) return invalidResponse;
  if (status >= 400 && status < 600) {
    if (outcome !== 'NotProcessed') return invalidResponse;
    if (overloadStatuses.has(status))
      return { outcome: 'NotSent', reason: 'the acquirer rejects new requests' };
    return { outcome: 'Declined', responseCode: formatErrorCode };
  }
  if (outcome === 'Pending') return 'Pending';
  if (responseCode === undefined) return invalidResponse;
  const { approved, known } = responseCodeFacts(responseCode, { zeroAmount: message.amount === 0 });
  if (outcome === 'Approved' && approved) return toApprovedOutcome(request, body, responseCode);
  if (outcome !== 'Declined' || approved) return invalidResponse;
  return {
    outcome,
    responseCode,
    ...(known ? {} : { isExplicitDecline: true }),
    ...additionalMembers(body, message),
  };
}
