/** The sale system's side of the dialogue: one service at a time, and no outcome is guessed. */
import { serviceIdRetentionMs } from '../limits.ts';
import { requestOf } from '../messages/build-message.ts';
import {
  type AnyMessage,
  type Body,
  type Header,
  isMessage,
  type Message,
} from '../messages/message.ts';
import { type ProtectedReading, type Reading, readMessage } from '../messages/read-message.ts';
import { bytesOf } from '../messages/text-bytes.ts';
import { categoryRules, type MessageTypeOf } from '../table/categories.ts';
import type { Structure } from '../table/structures.ts';
import type { Category } from '../table/value-sets.ts';
import { resultOf } from './error-condition-advice.ts';
import { dialogueKeyOf, isRepeatOf, referenceTo, repeatedBy } from './transaction-status.ts';

/**
 * How a service ended.
 *
 * - `Answered`: by the terminal, at once or repeated; `message` has the result
 * - `Faulty`: by an answer that is at fault but for its result; no amounts are known
 * - `NotProcessed`: the terminal never had it
 * - `Unknown`: the outcome could not be found; a person must check. With `NotFound` the terminal does not know the
 *   service, but may have lost its memory
 *
 * Source: ADR 0049.
 *
 * @example
 * if (step.do === 'Finish' && step.outcome === 'Answered') show(step.message);
 */
export type SaleOutcome =
  | { readonly outcome: 'Answered'; readonly message: AnyMessage }
  | { readonly outcome: 'Faulty'; readonly response: Structure<'Response'> }
  | { readonly outcome: 'NotProcessed' | 'Unknown'; readonly condition?: 'NotFound' };

/**
 * The next action of the sale system.
 *
 * - `Send`: keep `journal()`, then send this
 * - `Finish`: the service is over
 * - `Event`: the terminal sends an event, which has no answer
 * - `Serve`: the terminal asks for a screen, a key, a print; answer it
 * - `Late`: the answer of a service that had been given up; its effect must be undone
 * - `Wait`: nothing now; call `tick` at `due()`
 * - `Ignore`, `Refuse`: nothing is done, for this reason
 *
 * Source: ADR 0049.
 *
 * @example
 * const step: SaleStep = sale.receive(readMessage(text));
 */
export type SaleStep =
  | { readonly do: 'Send' | 'Event' | 'Serve' | 'Late'; readonly message: AnyMessage }
  | ({ readonly do: 'Finish'; readonly request: Header } & SaleOutcome)
  | { readonly do: 'Wait' }
  | { readonly do: 'Ignore' | 'Refuse'; readonly reason: string };

/**
 * The data to save before a request is sent, so that the outcome can be requested after a restart.
 * It contains no message body.
 *
 * Source: ADR 0049.
 *
 * @example
 * writeFileSync(file, JSON.stringify(sale.journal() ?? null));
 */
export type SaleJournal = { readonly header: Header; readonly at: number };

/**
 * How long is waited, in milliseconds.
 *
 * Source: public documentation of the Terminal API: 120 s on a local network, 150 s through a cloud.
 *
 * @example
 * const times: Partial<SaleTimes> = { answerMs: 120_000 };
 */
export type SaleTimes = {
  /** For the answer; default 150 s, the time of a cloud connection. */
  readonly answerMs: number;
  /** Between two questions for the outcome; default 5 s. */
  readonly statusEveryMs: number;
  /** Time limit for requesting the outcome; default 150 s. */
  readonly statusForMs: number;
};

/**
 * The parameters of the sale system side.
 *
 * Source: ADR 0049.
 *
 * @example
 * const deps: SaleDeps = { saleId: 'till-3', poiId, now: Date.now, nextServiceId };
 */
export type SaleDeps = {
  readonly saleId: string;
  readonly poiId: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** A new identification: {@link createServiceIds}. */
  readonly nextServiceId: () => string;
  readonly times?: Partial<SaleTimes>;
  /** The result of `journal()` before a restart: the dialogue first requests the outcome. */
  readonly journal?: SaleJournal;
  /**
   * The last service that the terminal answered before. Only a terminal that still repeats this answer proves with
   * `NotFound` that it did not receive the next service.
   */
  readonly lastAnswered?: Header;
};

/**
 * The sale system's side.
 *
 * Source: ADR 0049.
 *
 * @example
 * const step = sale.begin('Payment', body);
 */
export type SaleDialogue = {
  /**
   * Begins a service; refused while one runs, but for those that go besides it. A `Held` one is sent later, as its
   * journal is being kept: until `sending` neither the connection nor the time ends it, only `notSent`.
   */
  readonly begin: <Of extends Category>(
    category: Of,
    body: Body<Of, 'Request' & MessageTypeOf<Of>>,
    mode?: 'Held',
  ) => SaleStep;
  /** The delayed request is sent now, and its time limit starts. */
  readonly sending: () => void;
  /** Asks for the end of the running service, whose own answer then has to be awaited all the same. */
  readonly abort: (reason: string) => SaleStep;
  readonly receive: (reading: Exclude<Reading, ProtectedReading>) => SaleStep;
  /** The connection broke, or the transport gave up: the request may have arrived. */
  readonly lost: () => SaleStep;
  /** The transport is sure that the request never left. */
  readonly notSent: () => SaleStep;
  /**
   * Reports the outcome of a service that another dialogue recovered. If the outcome is unknown,
   * its response is late here.
   */
  readonly markEnded: (request: Header, outcome: SaleOutcome['outcome']) => void;
  /** Gives up a request beside a service, so that another one can be sent. */
  readonly drop: (question: Header) => void;
  /** When `tick` is to be called, epoch milliseconds; again and again while that is not later than now. */
  readonly due: () => number | undefined;
  readonly tick: () => SaleStep;
  /** The state to store before sending; undefined while no service runs. */
  readonly journal: () => SaleJournal | undefined;
};

/** A request beside a service; a lost answer is not requested again. */
type Question = { readonly header: Header; until: number };

type Recovery = {
  until: number;
  nextAt: number;
  notFound: number;
  /** The service that each status request is about. */
  readonly statusRequests: Map<string, Header>;
};

type Current = {
  readonly header: Header;
  readonly at: number;
  /** Nothing of it has been sent. */
  readonly isHeld: boolean;
  /** Set once the outcome must be requested. */
  recovery?: Recovery;
};

const defaults: SaleTimes = { answerMs: 150_000, statusEveryMs: 5_000, statusForMs: 150_000 };
/** A request that is still on its way is not found either: the second `NotFound` counts. */
const notFoundNeeded = 2;
const storedEndedMax = 100;
const besidesMax = 16;

/**
 * Makes the sale system side of the dialogue. Rules:
 *
 * - It runs one service at a time. Only the response that repeats the category and identifications
 *   ends the service; an abort or an event does not.
 * - Without a response in time, or after a broken connection, it sends TransactionStatus until it
 *   knows the outcome. After `InProgress` and `Busy` it repeats the request; `NotFound` counts the
 *   second time. An outcome that is not known at the end is `Unknown`, never a refusal.
 * - `NotFound` proves nothing if the service is older than 48 hours, or if the terminal does not
 *   repeat the previous answer either: a terminal that was exchanged or reset has an empty memory.
 *   The outcome is then `Unknown`.
 * - A category that TransactionStatus cannot repeat, and a service of another terminal, end as
 *   `Unknown` at once.
 *
 * Source: nexo Sale to POI 3.0, `TransactionStatus`; public documentation of the Terminal API, "Verify
 * transaction status"; ADR 0049.
 *
 * @param deps - names, a clock, identifications, times, and what was left open by a restart
 * @returns the sale system's side
 * @example
 * const sale = createSaleDialogue({ saleId: 'till-3', poiId, now, nextServiceId });
 * const step = sale.begin('Payment', body);
 * if (step.do === 'Send') send(writeMessage(step.message));
 */
export function createSaleDialogue(deps: SaleDeps): SaleDialogue {
  const { saleId, poiId, now, nextServiceId } = deps;
  const times: SaleTimes = { ...defaults, ...deps.times };
  const besides = new Map<string, Question>();
  const ended = new Map<string, SaleOutcome['outcome']>();
  let { lastAnswered } = deps;
  let current: Current | undefined;
  if (deps.journal !== undefined) {
    current = { ...deps.journal, isHeld: false, recovery: recoveryFrom(now()) };
  }

  /** The service that the terminal may have. */
  const sent = () => (current?.isHeld === true ? undefined : current);

  function recoveryFrom(at: number): Recovery {
    return { until: at + times.statusForMs, nextAt: at, notFound: 0, statusRequests: new Map() };
  }

  const address = () => ({ saleId, poiId, serviceId: nextServiceId() });

  function begin<Of extends Category>(
    category: Of,
    body: Body<Of, 'Request' & MessageTypeOf<Of>>,
    mode?: 'Held',
  ): SaleStep {
    const facts = categoryRules(category);
    if (facts.class !== 'Service') return { do: 'Refuse', reason: 'no service' };
    if (facts.besides !== true && current !== undefined) {
      return { do: 'Refuse', reason: 'a service runs' };
    }
    if (besides.size >= besidesMax) return { do: 'Refuse', reason: 'too many questions are open' };
    const message = requestOf(category, address(), body as never) as AnyMessage;
    const { header } = message;
    if (facts.besides !== true) current = { header, at: now(), isHeld: mode !== undefined };
    else if (facts.bodies.Response !== undefined)
      besides.set(dialogueKeyOf(header), { header, until: now() + times.answerMs });
    return { do: 'Send', message };
  }

  function abort(reason: string): SaleStep {
    const running = sent();
    if (running === undefined) return { do: 'Refuse', reason: 'no service runs' };
    if (categoryRules(running.header.MessageCategory).abortable !== true) {
      return { do: 'Refuse', reason: 'this service is not aborted' };
    }
    const body = { MessageReference: referenceTo(running.header), AbortReason: reason };
    return { do: 'Send', message: requestOf('Abort', address(), body) };
  }

  function over(request: Header, outcome: SaleOutcome['outcome']): void {
    const [oldest] = ended.keys();
    if (ended.size >= storedEndedMax && oldest !== undefined) ended.delete(oldest);
    ended.set(dialogueKeyOf(request), outcome);
  }

  function finish(outcome: SaleOutcome): SaleStep {
    if (current === undefined) return { do: 'Ignore', reason: 'no service runs' };
    const { header } = current;
    current = undefined;
    over(header, outcome.outcome);
    if (outcome.outcome === 'Answered' && isRepeatable(header)) lastAnswered = header;
    return { do: 'Finish', request: header, ...outcome };
  }

  function lost(): SaleStep {
    for (const question of besides.values()) question.until = now();
    return recover();
  }

  /** From now on the dialogue requests the outcome. */
  function recover(): SaleStep {
    const running = sent();
    if (running === undefined) return tick();
    if (!isRepeatable(running.header)) return finish({ outcome: 'Unknown' });
    running.recovery ??= recoveryFrom(now());
    return tick();
  }

  function tick(): SaleStep {
    for (const [pair, { header, until }] of besides) {
      if (until > now()) continue;
      besides.delete(pair);
      return { do: 'Finish', request: header, outcome: 'Unknown' };
    }
    const running = sent();
    if (running === undefined) return { do: 'Wait' };
    const { recovery, header } = running;
    if (recovery === undefined) {
      return now() < running.at + times.answerMs ? { do: 'Wait' } : recover();
    }
    const canAsk = isRepeatable(header) && header.POIID === poiId;
    if (!canAsk || now() >= recovery.until) return finish({ outcome: 'Unknown' });
    if (now() < recovery.nextAt) return { do: 'Wait' };
    recovery.nextAt = now() + times.statusEveryMs;
    const isMissing = recovery.notFound >= notFoundNeeded;
    const subject = isMissing && lastAnswered !== undefined ? lastAnswered : header;
    const MessageReference = referenceTo(subject);
    const message = requestOf('TransactionStatus', address(), { MessageReference });
    recovery.statusRequests.set(dialogueKeyOf(message.header), subject);
    return { do: 'Send', message };
  }

  function receive(reading: Exclude<Reading, ProtectedReading>): SaleStep {
    if (reading.kind === 'Unreadable') return { do: 'Ignore', reason: 'cannot be read' };
    const header = reading.kind === 'Message' ? reading.message.header : reading.header;
    // The event of a terminal that could not read the header has no SaleID.
    const isEvent = header.MessageClass === 'Event';
    if (!isEvent && (header.SaleID !== saleId || header.POIID !== poiId)) {
      return { do: 'Ignore', reason: 'the message is for another sale system' };
    }
    if (reading.kind === 'Faulty') return faulty(reading);
    const { message } = reading;
    if (isMessage(message, 'Event', 'Notification')) return event(message);
    if (header.MessageType !== 'Response') return { do: 'Serve', message };
    if (isOfSent(header)) {
      return finish({ outcome: 'Answered', message });
    }
    if (isMessage(message, 'TransactionStatus', 'Response')) return status(message);
    return other(message);
  }

  function isOfSent(header: Header): boolean {
    const running = sent();
    return running !== undefined && dialogueKeyOf(running.header) === dialogueKeyOf(header);
  }

  /** An answer to a question that went besides, to a service that is over, or to nothing. */
  function other(message: AnyMessage): SaleStep {
    const pair = dialogueKeyOf(message.header);
    const question = besides.get(pair);
    if (question !== undefined) {
      besides.delete(pair);
      return { do: 'Finish', request: question.header, outcome: 'Answered', message };
    }
    const outcome = ended.get(pair);
    if (outcome === 'NotProcessed' || outcome === 'Unknown') return { do: 'Late', message };
    return {
      do: 'Ignore',
      reason: outcome === undefined ? 'an answer to nothing' : 'answered before',
    };
  }

  function faulty({ header, response }: Extract<Reading, { kind: 'Faulty' }>): SaleStep {
    if (header.MessageType !== 'Response' || !isOfSent(header))
      return { do: 'Ignore', reason: 'is faulty' };
    return response === undefined ? recover() : finish({ outcome: 'Faulty', response });
  }

  /** An event ends no service; after a Reject the dialogue requests the outcome instead of waiting. */
  function event(message: Message<'Event', 'Notification'>): SaleStep {
    const { EventToNotify, RejectedMessage } = message.body;
    if (EventToNotify !== 'Reject' || current?.recovery !== undefined) {
      return { do: 'Event', message };
    }
    const rejected = readMessage(bytesOf(RejectedMessage ?? ''));
    const header = headerOf(rejected);
    return header !== undefined && isOfSent(header) ? recover() : { do: 'Event', message };
  }

  function status(message: Message<'TransactionStatus', 'Response'>): SaleStep {
    const recovery = current?.recovery;
    const requestKey = dialogueKeyOf(message.header);
    const subject = recovery?.statusRequests.get(requestKey);
    if (current === undefined || recovery === undefined || subject === undefined) {
      return other(message);
    }
    recovery.statusRequests.delete(requestKey);
    const repeated = repeatedBy(message);
    if (repeated !== undefined && isRepeatOf(current.header, repeated.header)) {
      return finish({ outcome: 'Answered', message: repeated });
    }
    const errorCondition = resultOf(message)?.ErrorCondition;
    // A terminal that repeats no batch answers so whether or not it performed the batch.
    const isRefused = errorCondition === 'NotFound' || errorCondition === 'NotAllowed';
    if (current.header.MessageCategory === 'Batch' && isRefused) {
      return finish({ outcome: 'Unknown' });
    }
    if (subject !== current.header) {
      if (repeated !== undefined && isRepeatOf(subject, repeated.header))
        return finish({ outcome: 'NotProcessed' });
      const isLater = errorCondition === 'Busy' || errorCondition === 'InProgress';
      return isLater ? { do: 'Wait' } : notFound();
    }
    recovery.notFound = errorCondition === 'NotFound' ? recovery.notFound + 1 : 0;
    if (recovery.notFound < notFoundNeeded) return { do: 'Wait' };
    if (lastAnswered === undefined || !isRemembered(current.at)) return notFound();
    recovery.nextAt = now();
    return tick();
  }

  const notFound = () => finish({ outcome: 'Unknown', condition: 'NotFound' });

  /** After a clock change the age is unknown. */
  function isRemembered(at: number): boolean {
    const age = now() - at;
    return age >= 0 && age < serviceIdRetentionMs;
  }

  function due(): number | undefined {
    const moments = [...besides.values()].map(({ until }) => until);
    const { at, recovery } = sent() ?? {};
    if (recovery !== undefined) moments.push(Math.min(recovery.nextAt, recovery.until));
    else if (at !== undefined) moments.push(at + times.answerMs);
    return moments.length === 0 ? undefined : Math.min(...moments);
  }

  return {
    begin,
    sending() {
      if (current?.isHeld === true) current = { ...current, at: now(), isHeld: false };
    },
    abort,
    receive,
    lost,
    notSent: () => finish({ outcome: 'NotProcessed' }),
    markEnded: over,
    drop: (question) => void besides.delete(dialogueKeyOf(question)),
    due,
    tick,
    journal: () => current && { header: current.header, at: current.at },
  };
}

const isRepeatable = ({ MessageCategory }: Header): boolean =>
  categoryRules(MessageCategory).repeated === true;

function headerOf(reading: Reading): Header | undefined {
  if (reading.kind === 'Unreadable') return undefined;
  return reading.kind === 'Message' ? reading.message.header : reading.header;
}
