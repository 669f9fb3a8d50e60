// Decides what a message does to the ledger and how it is answered; no sockets here.
import { defined } from '@switchyard/contract';
import type { Message } from '@switchyard/iso8583';
import type { Clock } from '../../shared/clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type Answered, effectOf, type Original } from '../ledger/ledger-entries.ts';
import { decidedAnswer, isAnswer, plainAnswer } from './build-answer.ts';
import { type FinancialRequest, type OriginalTime, parseRequest } from './financial-request.ts';
import {
  amountRule,
  approvedAmount,
  approves,
  type Delivery,
  reversalTrouble,
  troubledAttempts,
} from './test-amounts-and-cards.ts';
import { pinVerdict } from './verify-pin.ts';

/** What the host remembers of one connection. */
export type Session = { signedOn: boolean };

export type Decision = { answer: Message; delivery: Delivery };

export type Host = {
  /** Decides and records; `undefined` where there is nothing to say. Flush before answering. */
  decide(message: Message, session: Session): Decision | undefined;
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

/** How many originals with troubled reversals are counted at a time. */
const troubledMax = 10_000;

/** What became of a message: the original before and after it, and the answer. */
type Outcome = {
  before: Original | undefined;
  after: Original;
  code: string;
  amount: number;
  approval: string;
};

export type HostDeps = {
  ledger: Ledger;
  clock: Clock;
  /** By which of its times an original is named. */
  originalBy?: OriginalTime;
  /** The zone PIN keys that are good now; none where no PIN can be checked. */
  pinKeys?: () => readonly Buffer[];
  /** Whether it can give new keys to whoever asks. */
  givesKeys?: boolean;
};

export function createHost(deps: HostDeps): Host {
  const { ledger, clock, originalBy, pinKeys, givesKeys = false } = deps;
  const reversalAttempts = new Map<string, number>();

  function record(request: FinancialRequest, outcome: Outcome, delivery: Delivery): void {
    const { before, after, code, amount, approval } = outcome;
    // `key` stays second and `original.key` first: the files are searched for these words.
    ledger.record({
      at: new Date(clock.now()).toISOString(),
      key: request.key,
      kind: request.kind,
      requested: request.amount,
      amount,
      code,
      approval,
      ...(delivery === 'once' ? {} : { delivery }),
      original: after,
      effect: effectOf(before, after),
    });
  }

  function settle(
    message: Message,
    request: FinancialRequest,
    outcome: Outcome,
    delivery: Delivery,
  ): Decision {
    record(request, outcome, delivery);
    return { answer: decidedAnswer(message, outcome), delivery };
  }

  function authorise(request: FinancialRequest, kind: 'hold' | 'sale', code: string): Outcome {
    const { key, terminal, merchant, currency, rrn, pan, amount } = request;
    const approved = approvedAmount(code, amount);
    const approval = approves(code) ? (request.approvedOffline ?? ledger.nextApproval()) : '';
    const captured = kind === 'sale' ? approved : 0;
    const facts = { key, kind, terminal, merchant, currency, rrn, pan, code, approval };
    const after: Original = { ...facts, approved, held: approved, captured, refunded: 0 };
    return { before: undefined, after, code, amount: approved, approval };
  }

  function first(message: Message, request: FinancialRequest, kind: 'hold' | 'sale'): Decision {
    if (!ledger.admits(request)) {
      return { answer: plainAnswer(message, INVALID_MERCHANT), delivery: 'once' };
    }
    const refused = pinRefusal(message, pinKeys?.() ?? []);
    if (refused !== undefined) {
      return settle(message, request, authorise(request, kind, refused), 'once');
    }
    // An authorisation of nothing verifies the card; a sale of nothing is a mistake.
    const rule =
      kind === 'sale' && request.amount === 0
        ? { code: INVALID_AMOUNT, delivery: 'once' as const }
        : amountRule(request.amount);
    return settle(message, request, authorise(request, kind, rule.code), rule.delivery);
  }

  function follow(message: Message, request: FinancialRequest, original: Original): Decision {
    const { amount } = request;
    const refund = request.kind === 'refund';
    const left = refund ? original.captured - original.refunded : original.held - original.captured;
    const refused = refusalOf(request, original, left);
    const rule = amountRule(amount);
    // A part of a capture or refund cannot be approved: 10 approves all of it.
    const code = refused ?? (approves(rule.code) ? APPROVED : rule.code);
    if (code !== APPROVED) {
      const nothing = { before: original, after: original, code, amount: 0, approval: '' };
      return settle(message, request, nothing, 'once');
    }
    const after = refund
      ? { ...original, refunded: original.refunded + amount }
      : captureOf(original, request);
    const approval = refund ? ledger.nextApproval() : original.approval;
    const outcome = { before: original, after, code, amount, approval };
    return settle(message, request, outcome, rule.delivery);
  }

  function reverse(message: Message, request: FinancialRequest, original: Original): Decision {
    const trouble = reversalTrouble(original.pan);
    if (trouble !== undefined) {
      const attempt = (reversalAttempts.get(original.key) ?? 0) + 1;
      if (reversalAttempts.size >= troubledMax) reversalAttempts.clear();
      reversalAttempts.set(original.key, attempt);
      if (attempt <= troubledAttempts[trouble]) {
        if (trouble === 'refused') {
          return { answer: plainAnswer(message, MALFUNCTION), delivery: 'once' };
        }
        return { ...reverseOnce(message, request, original), delivery: 'never' };
      }
    }
    return reverseOnce(message, request, original);
  }

  function reverseOnce(message: Message, request: FinancialRequest, original: Original): Decision {
    const answered = ledger.answered(request.key, request.repeat);
    if (answered !== undefined) {
      return { answer: decidedAnswer(message, answered), delivery: 'once' };
    }
    const remaining = request.remaining ?? 0;
    const least = original.kind === 'hold' ? original.captured : original.refunded;
    const code = remaining < least || remaining > original.held ? ABOVE_THE_LIMIT : APPROVED;
    const held = code === APPROVED ? remaining : original.held;
    const captured = original.kind === 'hold' ? original.captured : held;
    const { reason } = request;
    const after = { ...original, held, captured, ...defined({ reason }) };
    const amount = original.held - held;
    return settle(
      message,
      request,
      { before: original, after, code, amount, approval: '' },
      'once',
    );
  }

  function onOriginal(message: Message, request: FinancialRequest): Decision {
    const original = ledger.original(request.originalKeys, request);
    if (original === undefined) {
      return { answer: plainAnswer(message, NOT_FOUND), delivery: 'once' };
    }
    if (request.kind === 'reversal') return reverse(message, request, original);
    return follow(message, request, original);
  }

  function known(request: FinancialRequest): Answered | undefined {
    // Reversals are looked up after the troubles of their card.
    return request.kind === 'reversal' ? undefined : ledger.answered(request.key, request.repeat);
  }

  function decide(message: Message, session: Session): Decision | undefined {
    if (isAnswer(message.mti)) return undefined;
    if (message.mti.startsWith('08')) return network(message, session, givesKeys);
    if (!session.signedOn) {
      return { answer: plainAnswer(message, NOT_SIGNED_ON), delivery: 'once' };
    }
    const request = parseRequest(message, originalBy);
    if ('fault' in request) {
      return { answer: plainAnswer(message, request.fault), delivery: 'once' };
    }
    const answered = known(request);
    if (answered !== undefined) {
      return { answer: decidedAnswer(message, answered), delivery: 'once' };
    }
    const { kind } = request;
    return kind === 'hold' || kind === 'sale'
      ? first(message, request, kind)
      : onOriginal(message, request);
  }

  function capture(request: FinancialRequest): string {
    const answered = ledger.answered(request.key, request.repeat);
    if (answered !== undefined) return answered.code;
    const original = ledger.original(request.originalKeys, request) ?? ledger.original([], request);
    if (original === undefined) return NOT_FOUND;
    const { answer } = follow({ mti: '0220', fields: {} }, request, original);
    return answer.fields[39] ?? MALFUNCTION;
  }

  return { decide, capture };
}

/** The code for a PIN that is not right, under each of the keys that may be in use. */
function pinRefusal({ fields }: Message, keys: readonly Buffer[]): string | undefined {
  const { 52: de52, 53: de53 = '' } = fields;
  if (de52 === undefined) return undefined;
  const pan = fields[2] ?? fields[35]?.split('=')[0] ?? '';
  const verdicts = (keys.length === 0 ? [undefined] : keys).map((key) =>
    pinVerdict({ de52, de53, pan, key }),
  );
  return verdicts.includes(undefined) ? undefined : verdicts[0];
}

/** The last capture lets the rest of the hold go. */
function captureOf(original: Original, { amount, final }: FinancialRequest): Original {
  const captured = original.captured + amount;
  return { ...original, captured, held: final ? captured : original.held };
}

/** Why a capture or refund cannot be, or `undefined`. */
function refusalOf(
  request: FinancialRequest,
  original: Original,
  left: number,
): string | undefined {
  const { kind, amount, currency } = request;
  if (kind === 'capture' && original.kind !== 'hold') return INVALID_TRANSACTION;
  if (currency !== original.currency) return INVALID_TRANSACTION;
  if (amount === 0) return INVALID_AMOUNT;
  return amount > left ? ABOVE_THE_LIMIT : undefined;
}

function network(message: Message, session: Session, givesKeys: boolean): Decision {
  const code = message.fields[70];
  if (code === SIGN_ON) session.signedOn = true;
  if (code === SIGN_OFF) session.signedOn = false;
  const known = givesKeys ? [SIGN_ON, SIGN_OFF, ECHO, KEY_REQUEST] : [SIGN_ON, SIGN_OFF, ECHO];
  const understood = known.includes(code ?? '');
  return {
    answer: plainAnswer(message, understood ? APPROVED : INVALID_TRANSACTION),
    delivery: 'once',
  };
}
