// Decides how a message of the acquirer SPI changes the ledger and how the acquirer answers it.
import {
  defined,
  type SpiAnswer,
  type SpiCapture,
  type SpiPayment,
  type SpiRefund,
  type SpiReversal,
} from '@switchyard/contract';
import { maskPan } from '@switchyard/iso8583';
import { numericOf } from '@switchyard/money';
import { addressVerificationResult } from '../acquirer-host/decisions/address-verification.ts';
import {
  type AnswerDelivery,
  amountRule,
  approvedAmount,
  isApprovalCode,
  reversalFaultAttempts,
  reversalFaultOf,
} from '../acquirer-host/decisions/test-amounts-and-cards.ts';
import type { Ledger } from '../acquirer-host/ledger/ledger.ts';
import {
  entryEffect,
  type LedgerEntryKind,
  type OriginalTransaction,
  type RecordedAnswer,
} from '../acquirer-host/ledger/ledger-entries.ts';
import type { Clock } from '../clock.ts';

type FollowUpMessage = SpiCapture | SpiRefund | SpiReversal;

/** A message and its path. */
export type SpiRequest =
  | { readonly path: '/v1/payments'; readonly message: SpiPayment }
  | { readonly path: '/v1/captures'; readonly message: SpiCapture }
  | { readonly path: '/v1/refunds'; readonly message: SpiRefund }
  | { readonly path: '/v1/reversals'; readonly message: SpiReversal };

export type SpiDecision = { answer: SpiAnswer; delivery: AnswerDelivery | 'pending' };

export type SpiDecider = {
  /** Decides and records. Flush the ledger before answering. */
  decide(call: SpiRequest): SpiDecision;
  /** The recorded decision about a message. */
  find(messageId: string, requested?: { amount: number; currency: string }): SpiAnswer | undefined;
};

const APPROVED = '00';
const PARTIALLY_APPROVED = '10';
const INVALID_MERCHANT = '03';
const INVALID_TRANSACTION = '12';
const INVALID_AMOUNT = '13';
const NOT_FOUND = '25';
const ABOVE_THE_LIMIT = '61';
const MALFUNCTION = '96';
/** An amount that ends in these digits is pending first and approved later. */
const PENDING_AMOUNT = 9097;
const AMOUNT_MODULUS = 10_000;

/** Limit of originals whose failed reversals the acquirer counts at the same time. */
const countedReversalsMax = 10_000;

type Outcome = {
  before: OriginalTransaction | undefined;
  after: OriginalTransaction;
  code: string;
  amount: number;
  approval: string;
};

function answerOf(
  messageId: string,
  currency: string,
  { code, amount, approval }: RecordedAnswer,
  extraFields: Partial<SpiAnswer> = {},
): SpiAnswer {
  if (!isApprovalCode(code)) {
    return { messageId, outcome: 'Declined', responseCode: code, ...extraFields };
  }
  return {
    messageId,
    outcome: 'Approved',
    responseCode: code,
    amount,
    currency,
    ...(approval === '' ? {} : { authorizationCode: approval }),
    ...extraFields,
  };
}

/** The answer has no amount: the second reversal of a payment has no effect. */
function reversalAnswer(messageId: string, currency: string, answered: RecordedAnswer): SpiAnswer {
  const { amount: _amount, ...answer } = answerOf(messageId, currency, answered);
  return answer;
}

const hexOf = (text: string) => Buffer.from(text, 'latin1').toString('hex').toUpperCase();

/** Further fields of the issuer; the cryptogram is not computed with a key. */
function issuerFields(message: SpiPayment, code: string): Partial<SpiAnswer> {
  const { chipData, traceNumber, addressCheck } = message;
  const issuerData = `910A${hexOf(traceNumber.padStart(8, '0'))}${hexOf(code)}`;
  const address = addressCheck && addressCheck.postalCode.padEnd(9, ' ') + addressCheck.houseNumber;
  const letter =
    address && addressVerificationResult(`82${String(address.length).padStart(2, '0')}${address}`);
  return defined({
    issuerData: chipData === undefined ? undefined : issuerData,
    addressResult: letter,
  });
}

/** The response code that declines a capture or refund, or `undefined`. */
function declineCodeOf(
  kind: 'capture' | 'refund',
  { amount, currency }: FollowUpMessage,
  original: OriginalTransaction,
): string | undefined {
  if (kind === 'capture' && original.kind !== 'hold') return INVALID_TRANSACTION;
  if (numericOf(currency) !== original.currency) return INVALID_TRANSACTION;
  if (amount === 0) return INVALID_AMOUNT;
  const availableAmount =
    kind === 'refund' ? original.captured - original.refunded : original.held - original.captured;
  return amount > availableAmount ? ABOVE_THE_LIMIT : undefined;
}

/** @param deps the ledger, opened, and the time of day */
export function createSpiDecider({ ledger, clock }: { ledger: Ledger; clock: Clock }): SpiDecider {
  const reversalAttempts = new Map<string, number>();

  function record(
    messageId: string,
    kind: LedgerEntryKind,
    requested: number,
    outcome: Outcome,
    delivery: AnswerDelivery,
  ): void {
    const { before, after, code, amount, approval } = outcome;
    // `key` stays second and `original.key` first: the search in the ledger files depends on this order.
    ledger.record({
      at: new Date(clock.now()).toISOString(),
      key: messageId,
      kind,
      requested,
      amount,
      code,
      approval,
      ...(delivery === 'once' ? {} : { delivery }),
      original: after,
      effect: entryEffect(before, after),
    });
  }

  function decidePayment(message: SpiPayment): SpiDecision {
    const { messageId, merchantId, terminalId, amount, retrievalReference } = message;
    const currency = numericOf(message.currency);
    if (!ledger.canRecord({ merchant: merchantId, currency })) {
      const refused = { code: INVALID_MERCHANT, amount: 0, approval: '' };
      return { answer: answerOf(messageId, message.currency, refused), delivery: 'once' };
    }
    const kind = message.kind === 'Authorization' ? 'hold' : 'sale';
    const isPending = amount % AMOUNT_MODULUS === PENDING_AMOUNT;
    const rule = isPending ? { code: APPROVED, delivery: 'once' as const } : amountRule(amount);
    // An authorisation of amount 0 verifies the card; a sale of amount 0 is invalid.
    const code = kind === 'sale' && amount === 0 ? INVALID_AMOUNT : rule.code;
    const approved = approvedAmount(code, amount);
    const approval = isApprovalCode(code) ? ledger.nextApproval() : '';
    const after: OriginalTransaction = {
      key: messageId,
      kind,
      terminal: terminalId,
      merchant: merchantId,
      currency,
      rrn: retrievalReference,
      pan: maskPan(message.card.number),
      code,
      approval,
      approved,
      held: approved,
      captured: kind === 'sale' ? approved : 0,
      refunded: 0,
    };
    const outcome = { before: undefined, after, code, amount: approved, approval };
    record(messageId, kind, amount, outcome, rule.delivery);
    const answer = answerOf(messageId, message.currency, outcome, issuerFields(message, code));
    return { answer, delivery: isPending ? 'pending' : rule.delivery };
  }

  function decideCaptureOrRefund(
    kind: 'capture' | 'refund',
    message: FollowUpMessage,
    original: OriginalTransaction,
  ): SpiDecision {
    const { messageId, amount, currency } = message;
    const rule = amountRule(amount);
    // The acquirer does not approve a part of a capture or refund: code 10 approves all of it.
    const asRuled =
      rule.code === PARTIALLY_APPROVED || isApprovalCode(rule.code) ? APPROVED : rule.code;
    const code = declineCodeOf(kind, message, original) ?? asRuled;
    if (code !== APPROVED) {
      const nothing = { before: original, after: original, code, amount: 0, approval: '' };
      record(messageId, kind, amount, nothing, 'once');
      return { answer: answerOf(messageId, currency, nothing), delivery: 'once' };
    }
    const captured = original.captured + amount;
    const final = 'final' in message && message.final;
    const after =
      kind === 'refund'
        ? { ...original, refunded: original.refunded + amount }
        : { ...original, captured, held: final ? captured : original.held };
    const approval = kind === 'refund' ? ledger.nextApproval() : original.approval;
    const outcome = { before: original, after, code, amount, approval };
    record(messageId, kind, amount, outcome, rule.delivery);
    return { answer: answerOf(messageId, currency, outcome), delivery: rule.delivery };
  }

  function applyReversal(message: SpiReversal, original: OriginalTransaction): SpiDecision {
    const { messageId, currency, remainingAmount: remaining = 0 } = message;
    const recorded = ledger.findAnswer(messageId, message.repeat);
    if (recorded !== undefined) {
      return { answer: reversalAnswer(messageId, currency, recorded), delivery: 'once' };
    }
    const least = original.kind === 'hold' ? original.captured : original.refunded;
    const code = remaining < least || remaining > original.held ? ABOVE_THE_LIMIT : APPROVED;
    const held = code === APPROVED ? remaining : original.held;
    const captured = original.kind === 'hold' ? original.captured : held;
    const after = { ...original, held, captured };
    const amount = original.held - held;
    const outcome = { before: original, after, code, amount, approval: '' };
    record(messageId, 'reversal', message.amount, outcome, 'once');
    return { answer: reversalAnswer(messageId, currency, outcome), delivery: 'once' };
  }

  function decideReversal(message: SpiReversal, original: OriginalTransaction): SpiDecision {
    const fault = reversalFaultOf(original.pan);
    if (fault === undefined) return applyReversal(message, original);
    const attempt = (reversalAttempts.get(original.key) ?? 0) + 1;
    if (reversalAttempts.size >= countedReversalsMax) reversalAttempts.clear();
    reversalAttempts.set(original.key, attempt);
    if (attempt > reversalFaultAttempts[fault]) return applyReversal(message, original);
    if (fault === 'silent') return { ...applyReversal(message, original), delivery: 'never' };
    const refused = { code: MALFUNCTION, amount: 0, approval: '' };
    return { answer: answerOf(message.messageId, message.currency, refused), delivery: 'once' };
  }

  function decideOnOriginal(call: Exclude<SpiRequest, { path: '/v1/payments' }>): SpiDecision {
    const { message } = call;
    const { merchantId: merchant, terminalId: terminal } = message;
    const original = ledger.findOriginal([message.original], { merchant, terminal, rrn: '' });
    // Only the merchant and terminal of a payment can change it.
    if (
      original === undefined ||
      original.merchant !== merchant ||
      original.terminal !== terminal
    ) {
      const unknown = { code: NOT_FOUND, amount: 0, approval: '' };
      return {
        answer: answerOf(message.messageId, message.currency, unknown),
        delivery: 'once',
      };
    }
    if (call.path === '/v1/reversals') return decideReversal(call.message, original);
    return decideCaptureOrRefund(
      call.path === '/v1/captures' ? 'capture' : 'refund',
      message,
      original,
    );
  }

  return {
    decide(call) {
      const { path, message } = call;
      // A reversal fault of the card comes before the lookup of an earlier answer.
      const recorded =
        path === '/v1/reversals' ? undefined : ledger.findAnswer(message.messageId, message.repeat);
      if (recorded !== undefined) {
        const extraFields = path === '/v1/payments' ? issuerFields(message, recorded.code) : {};
        const answer = answerOf(message.messageId, message.currency, recorded, extraFields);
        return { answer, delivery: 'once' };
      }
      return path === '/v1/payments' ? decidePayment(message) : decideOnOriginal(call);
    },
    find(messageId, requested) {
      const recorded = ledger.findAnswer(messageId, true);
      if (recorded === undefined) return undefined;
      const answer = answerOf(messageId, requested?.currency ?? '', recorded);
      if (requested !== undefined) return answer;
      const { currency: _unknown, ...rest } = answer;
      return rest;
    },
  };
}
