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
  invalidResponse,
} from '../spi/acquirer-spi.ts';
import { checkApprovedAmount, safeIssuerData } from '../spi/check-outcome.ts';
import type { VerifiedResponse } from './signed-exchange.ts';

type SpiMessage = SpiPayment | SpiCapture | SpiRefund | SpiReversal;

/** A message and its path. The path distinguishes a reversal from a refund. */
export type SpiRequest = { path: SpiPath; message: SpiMessage };

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

/** Builds path and message. Only payments contain card data. */
export function toSpiMessage(
  request: AcquirerRequest,
  institutionId: string,
  sentAt: string,
): SpiRequest {
  const { kind, transactionId, original, authorizationCode, final = false } = request;
  const common = commonMembers(request, institutionId, sentAt);
  if (kind === 'Authorization' || kind === 'Sale' || kind === 'OfflineSale')
    return { path: '/v1/payments', message: { ...common, ...paymentMembers(request, kind) } };
  if (original === undefined)
    throw new Error('a capture, refund or reversal requires the original reference');
  const message = {
    ...common,
    original: messageIdOf(transactionId, original),
    ...defined({ authorizationCode }),
  };
  if (kind === 'Capture') return { path: '/v1/captures', message: { ...message, final } };
  if (kind === 'Refund') return { path: '/v1/refunds', message };
  const { remainingAmount, reversalReason: reason, chipData } = request;
  const reversal = { ...message, ...defined({ remainingAmount, reason, chipData }) };
  return { path: '/v1/reversals', message: reversal };
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
  const { authorizationCode, currency = message.currency } = response;
  // A second reversal reverses amount 0 and still counts as approved.
  const isReversal = path === '/v1/reversals' && response.amount !== undefined;
  const amount = checkApprovedAmount(
    message.amount,
    isReversal ? message.amount : response.amount,
    responseCode === partialApprovalCode,
  );
  if (amount === undefined || currency !== message.currency) return invalidResponse;
  const members = { ...defined({ authorizationCode }), ...additionalMembers(response, message) };
  return { outcome: 'Approved', responseCode, amount, ...members };
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
  const explicitness = known ? {} : ({ isExplicitDecline: true } as const);
  return { outcome, responseCode, ...explicitness, ...additionalMembers(body, message) };
}
