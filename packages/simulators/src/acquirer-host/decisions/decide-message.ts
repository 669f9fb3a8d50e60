// Decides how a message changes the ledger and how the host answers it. Sockets are elsewhere.
import { defined } from '@switchyard/contract';
import type { Message } from '@switchyard/iso8583';
import type { Clock } from '../../clock.ts';
import { isAssignedReference, type Ledger } from '../ledger/ledger.ts';
import {
  entryEffect,
  type OriginalTransaction,
  type RecordedAnswer,
} from '../ledger/ledger-entries.ts';
import { answerForDecision, answerWithCode, isResponseMessage } from './build-answer.ts';
import {
  type FinancialRequest,
  type OriginalTime,
  parseFinancialRequest,
} from './read-financial-request.ts';
import {
  type AnswerDelivery,
  amountRule,
  approvedAmount,
  isApprovalCode,
  reversalFaultAttempts,
  reversalFaultOf,
} from './test-amounts-and-cards.ts';
import { verifyPin } from './verify-pin.ts';

/** The state of one connection. */
export type ConnectionSession = { isSignedOn: boolean };

/** What signs on before payments. */
export type SignOnBy = 'Connection' | 'Terminal' | 'None';

export type HostDecision = { answer: Message; delivery: AnswerDelivery };

export type MessageDecider = {
  /** Decides and records; `undefined` where the message gets no answer. Flush the ledger before answering. */
  decide(message: Message, session: ConnectionSession): HostDecision | undefined;
  /** Captures by a line of a clearing file; gives the response code, the same one for a repeat. */
  capture(request: FinancialRequest): string;
};

const SIGN_ON = '001';
const SIGN_OFF = '002';
const ECHO = '301';
const KEY_REQUEST = '161';

const APPROVED = '00';
const INVALID_MERCHANT = '03';
const INVALID_TRANSACTION = '12';
const INVALID_AMOUNT = '13';
const NOT_FOUND = '25';
const NOT_SIGNED_ON = '58';
const ABOVE_THE_LIMIT = '61';
const MALFUNCTION = '96';

/** Limit of originals whose failed reversals the host counts at the same time. */
const countedReversalsMax = 10_000;

/** Limit of terminals that sign on. */
const terminalsMax = 100_000;

const terminalKey = ({ 41: terminal, 42: merchant = '' }: Message['fields']) =>
  `${merchant.trimEnd()}.${terminal}`;

/** The effect of a message: the original before and after it, and the response code. */
type Outcome = {
  before: OriginalTransaction | undefined;
  after: OriginalTransaction;
  code: string;
  amount: number;
  approval: string;
};

export type MessageDeciderOptions = {
  ledger: Ledger;
  clock: Clock;
  /** Which time of the original the field DE90 holds. */
  originalBy?: OriginalTime;
  /** The valid zone PIN keys; an empty list where the host cannot verify a PIN. */
  pinKeys?: () => readonly Buffer[];
  /** Whether the host sends new keys when the other side requests them. */
  givesKeys?: boolean;
  /** Default `Connection`. */
  signOnBy?: SignOnBy;
  /** The length of the retrieval reference numbers (DE37) that the host assigns; undefined if it assigns none. */
  assignedReferenceLength?: number | undefined;
  /** By how many percent of the approved amount captures can exceed it. Default: 0. */
  overCapturePercent?: number;
};

export function createMessageDecider(deps: MessageDeciderOptions): MessageDecider {
  const { ledger, clock, originalBy, pinKeys, givesKeys = false, assignedReferenceLength } = deps;
  const { signOnBy = 'Connection', overCapturePercent = 0 } = deps;
  const reversalAttempts = new Map<string, number>();
  const signedOnTerminals = new Set<string>();

  function isSignedOn({ fields }: Message, session: ConnectionSession): boolean {
    if (signOnBy === 'Terminal') return signedOnTerminals.has(terminalKey(fields));
    return signOnBy === 'None' || session.isSignedOn;
  }

  function answerNetworkMessage(message: Message, session: ConnectionSession): HostDecision {
    const { fields } = message;
    const isTerminalSignOn = signOnBy === 'Terminal' && fields[70] === SIGN_ON;
    if (isTerminalSignOn && signedOnTerminals.size < terminalsMax)
      signedOnTerminals.add(terminalKey(fields));
    return answerNetworkManagement(message, session, givesKeys);
  }

  function record(request: FinancialRequest, outcome: Outcome, delivery: AnswerDelivery): void {
    const { before, after, code, amount, approval } = outcome;
    // `key` stays second and `original.key` first: the search in the ledger files depends on this order.
    ledger.record({
      at: new Date(clock.now()).toISOString(),
      key: request.key,
      kind: request.kind,
      rrn: request.rrn,
      requested: request.amount,
      amount,
      code,
      approval,
      ...(delivery === 'once' ? {} : { delivery }),
      original: after,
      effect: entryEffect(before, after),
    });
  }

  function recordAndAnswer(
    message: Message,
    request: FinancialRequest,
    outcome: Outcome,
    delivery: AnswerDelivery,
  ): HostDecision {
    record(request, outcome, delivery);
    return { answer: answerForDecision(message, { ...outcome, rrn: request.rrn }), delivery };
  }

  function applyAuthorization(
    request: FinancialRequest,
    kind: 'hold' | 'sale',
    code: string,
  ): Outcome {
    const { key, terminal, merchant, currency, rrn, pan, amount, localTime } = request;
    const approved = approvedAmount(code, amount);
    const approval = isApprovalCode(code) ? (request.approvedOffline ?? ledger.nextApproval()) : '';
    const captured = kind === 'sale' ? approved : 0;
    const facts = { key, kind, terminal, merchant, currency, rrn, pan, code, approval };
    const after: OriginalTransaction = {
      ...facts,
      requested: amount,
      ...defined({ localTime }),
      approved,
      held: approved,
      captured,
      refunded: 0,
    };
    return { before: undefined, after, code, amount: approved, approval };
  }

  function decideHoldOrSale(
    message: Message,
    request: FinancialRequest,
    kind: 'hold' | 'sale',
  ): HostDecision {
    if (!ledger.canRecord(request)) {
      return { answer: answerWithCode(message, INVALID_MERCHANT), delivery: 'once' };
    }
    const pinDeclined = pinDeclineCode(message, pinKeys?.() ?? []);
    if (pinDeclined !== undefined) {
      return recordAndAnswer(
        message,
        request,
        applyAuthorization(request, kind, pinDeclined),
        'once',
      );
    }
    // An authorisation of amount 0 verifies the card; a sale of amount 0 is invalid.
    const rule =
      kind === 'sale' && request.amount === 0
        ? { code: INVALID_AMOUNT, delivery: 'once' as const }
        : amountRule(request.amount);
    return recordAndAnswer(
      message,
      request,
      applyAuthorization(request, kind, rule.code),
      rule.delivery,
    );
  }

  function decideCaptureOrRefund(
    message: Message,
    request: FinancialRequest,
    original: OriginalTransaction,
  ): HostDecision {
    const { amount } = request;
    const refund = request.kind === 'refund';
    const availableAmount = refund
      ? original.captured - original.refunded
      : capturableAmount(original, overCapturePercent);
    const declineCode = declineCodeOf(request, original, availableAmount);
    const rule = amountRule(amount);
    // The host does not approve a part of a capture or refund: code 10 approves all of it.
    const code = declineCode ?? (isApprovalCode(rule.code) ? APPROVED : rule.code);
    if (code !== APPROVED) {
      const declined = { before: original, after: original, code, amount: 0, approval: '' };
      return recordAndAnswer(message, request, declined, 'once');
    }
    const after = refund
      ? { ...original, refunded: original.refunded + amount }
      : applyCapture(original, request);
    const approval = refund ? ledger.nextApproval() : original.approval;
    const outcome = { before: original, after, code, amount, approval };
    return recordAndAnswer(message, request, outcome, rule.delivery);
  }

  function decideReversal(
    message: Message,
    request: FinancialRequest,
    original: OriginalTransaction,
  ): HostDecision {
    const fault = reversalFaultOf(original.pan);
    if (fault !== undefined) {
      const attempt = (reversalAttempts.get(original.key) ?? 0) + 1;
      if (reversalAttempts.size >= countedReversalsMax) reversalAttempts.clear();
      reversalAttempts.set(original.key, attempt);
      if (attempt <= reversalFaultAttempts[fault]) {
        if (fault === 'refused') {
          return { answer: answerWithCode(message, MALFUNCTION), delivery: 'once' };
        }
        return { ...applyReversal(message, request, original), delivery: 'never' };
      }
    }
    return applyReversal(message, request, original);
  }

  function applyReversal(
    message: Message,
    request: FinancialRequest,
    original: OriginalTransaction,
  ): HostDecision {
    const answered = ledger.findAnswer(request.key, request.repeat);
    if (answered !== undefined) {
      return { answer: answerForDecision(message, answered), delivery: 'once' };
    }
    const remaining = request.remaining ?? 0;
    const least = original.kind === 'hold' ? original.captured : original.refunded;
    const code = remaining < least || remaining > original.held ? ABOVE_THE_LIMIT : APPROVED;
    const held = code === APPROVED ? remaining : original.held;
    const captured = original.kind === 'hold' ? original.captured : held;
    const { reason } = request;
    const after = { ...original, held, captured, ...defined({ reason }) };
    const amount = original.held - held;
    return recordAndAnswer(
      message,
      request,
      { before: original, after, code, amount, approval: '' },
      'once',
    );
  }

  const withReference = (request: FinancialRequest): FinancialRequest =>
    assignedReferenceLength === undefined
      ? request
      : { ...request, rrn: ledger.nextRetrievalReference(assignedReferenceLength) };

  function decideOnOriginal(message: Message, request: FinancialRequest): HostDecision {
    // A host that assigns numbers finds the original of a capture or refund only by its number.
    const isFoundByNumber =
      isAssignedReference(request.rrn) ||
      (assignedReferenceLength !== undefined && request.kind !== 'reversal');
    const originalKeys = isFoundByNumber ? [] : request.originalKeys;
    const original = ledger.findOriginal(originalKeys, request);
    if (original === undefined) {
      return { answer: answerWithCode(message, NOT_FOUND), delivery: 'once' };
    }
    const numbered = withReference(request);
    if (request.kind === 'reversal') return decideReversal(message, numbered, original);
    return decideCaptureOrRefund(message, numbered, original);
  }

  function findEarlierAnswer(request: FinancialRequest): RecordedAnswer | undefined {
    // A reversal fault of the card comes before the lookup of an earlier answer.
    return request.kind === 'reversal' ? undefined : ledger.findAnswer(request.key, request.repeat);
  }

  function decide(message: Message, session: ConnectionSession): HostDecision | undefined {
    if (isResponseMessage(message.mti)) return undefined;
    if (message.mti.startsWith('08')) return answerNetworkMessage(message, session);
    if (!isSignedOn(message, session)) {
      return { answer: answerWithCode(message, NOT_SIGNED_ON), delivery: 'once' };
    }
    const request = parseFinancialRequest(message, originalBy);
    if ('fault' in request) {
      return { answer: answerWithCode(message, request.fault), delivery: 'once' };
    }
    const answered = findEarlierAnswer(request);
    if (answered !== undefined) {
      return { answer: answerForDecision(message, answered), delivery: 'once' };
    }
    const { kind } = request;
    return kind === 'hold' || kind === 'sale'
      ? decideHoldOrSale(message, withReference(request), kind)
      : decideOnOriginal(message, request);
  }

  function capture(request: FinancialRequest): string {
    const answered = ledger.findAnswer(request.key, request.repeat);
    if (answered !== undefined) return answered.code;
    const original =
      ledger.findOriginal(request.originalKeys, request) ?? ledger.findOriginal([], request);
    if (original === undefined) return NOT_FOUND;
    const { answer } = decideCaptureOrRefund({ mti: '0220', fields: {} }, request, original);
    return answer.fields[39] ?? MALFUNCTION;
  }

  return { decide, capture };
}

/** The response code for a wrong PIN, checked with each valid key. */
function pinDeclineCode({ fields }: Message, keys: readonly Buffer[]): string | undefined {
  const { 52: de52, 53: de53 = '' } = fields;
  if (de52 === undefined) return undefined;
  const pan = fields[2] ?? fields[35]?.split('=')[0] ?? '';
  const verdicts = (keys.length === 0 ? [undefined] : keys).map((key) =>
    verifyPin({ de52, de53, pan, key }),
  );
  return verdicts.includes(undefined) ? undefined : verdicts[0];
}

/** A hold of which nothing is open cannot be exceeded. */
function capturableAmount(
  { approved, held, captured }: OriginalTransaction,
  overCapturePercent: number,
): number {
  const open = held - captured;
  return open === 0 ? 0 : open + Math.floor((approved * overCapturePercent) / 100);
}

/** The last capture releases the rest of the hold; an over-capture raises the hold. */
function applyCapture(
  original: OriginalTransaction,
  { amount, final }: FinancialRequest,
): OriginalTransaction {
  const captured = original.captured + amount;
  return { ...original, captured, held: final ? captured : Math.max(captured, original.held) };
}

/** The response code that declines a capture or refund, or `undefined`. */
function declineCodeOf(
  request: FinancialRequest,
  original: OriginalTransaction,
  availableAmount: number,
): string | undefined {
  const { kind, amount, currency } = request;
  if (kind === 'capture' && original.kind !== 'hold') return INVALID_TRANSACTION;
  if (currency !== original.currency) return INVALID_TRANSACTION;
  if (amount === 0) return INVALID_AMOUNT;
  return amount > availableAmount ? ABOVE_THE_LIMIT : undefined;
}

function answerNetworkManagement(
  message: Message,
  session: ConnectionSession,
  givesKeys: boolean,
): HostDecision {
  const code = message.fields[70];
  if (code === SIGN_ON) session.isSignedOn = true;
  if (code === SIGN_OFF) session.isSignedOn = false;
  const knownCodes = givesKeys ? [SIGN_ON, SIGN_OFF, ECHO, KEY_REQUEST] : [SIGN_ON, SIGN_OFF, ECHO];
  const isKnownCode = knownCodes.includes(code ?? '');
  return {
    answer: answerWithCode(message, isKnownCode ? APPROVED : INVALID_TRANSACTION),
    delivery: 'once',
  };
}
