/** A terminal for a till: one service at a time, and an outcome is never guessed. */

import { randomBytes, randomInt } from 'node:crypto';
import { defined } from '@switchyard/contract';
import {
  type Category,
  categoryRules,
  conditionFacts,
  createProtection,
  createServiceIds,
  type Header,
  resultOf,
  serviceIdKeptMs,
} from '@switchyard/nexo';
import { systemClock, unlessAborted } from '../support/clock.ts';
import { aborted, invalid, PosError, textOf } from '../support/pos-error.ts';
import { createTurns } from '../support/serial-queue.ts';
import { localSocketLink } from './local-websocket-link.ts';
import { createExchange, type Ended, type Exchange } from './message-exchange.ts';
import {
  type PaymentOrder,
  paymentBody,
  type ReversalOrder,
  reversalBody,
} from './payment-requests.ts';
import type { KeptService } from './service-store.ts';
import { autoLink, cloudLink, type Link, type LinkEvents, localLink } from './terminal-links.ts';
import type {
  Answer,
  Asked,
  CloudTransport,
  LocalTransport,
  Recovered,
  RequestBody,
  TerminalSettings,
} from './terminal-types.ts';

/**
 * Options of a service. An abort of a running service asks the terminal to end it, and the till
 * still waits for the answer. An abort of a queued service ends it at once.
 *
 * @example
 * const options: RequestOptions = { signal: cancelButton.signal };
 */
export type RequestOptions = { readonly signal?: AbortSignal | undefined };

/**
 * A terminal.
 *
 * @example
 * const terminal: Terminal = createTerminal(settings);
 */
export type Terminal = {
  /**
   * Call it first. It reads the store and requests the outcomes of services from before a restart.
   * Reconcile the result with the till's own records. An abort ends the requests; `open` can be
   * called again.
   */
  readonly open: (options?: RequestOptions) => Promise<readonly Recovered[]>;
  /**
   * Sends one service or one device message. Services run one after the other; Diagnosis,
   * TransactionStatus and device messages do not wait.
   *
   * @throws PosError: check `outcome`; `Unknown` means that money may have moved
   */
  readonly request: <Of extends Asked>(
    category: Of,
    body: RequestBody<Of>,
    options?: RequestOptions,
  ) => Promise<Answer<Of>>;
  readonly sale: (order: PaymentOrder, options?: RequestOptions) => Promise<Answer<'Payment'>>;
  /** Returns money to the customer; pass the payment as `original`. */
  readonly refund: (order: PaymentOrder, options?: RequestOptions) => Promise<Answer<'Payment'>>;
  readonly reverse: (order: ReversalOrder, options?: RequestOptions) => Promise<Answer<'Reversal'>>;
  /** Ends or changes a running input at the terminal. */
  readonly updateInput: (body: object, options?: RequestOptions) => Promise<void>;
  /** Services with an unknown outcome. */
  readonly unknown: () => readonly KeptService[];
  /**
   * Requests the outcome of one of them again. An abort ends the requests and keeps the outcome
   * unknown. An outcome that was settled stays, even if the terminal does not know the service.
   */
  readonly recover: (serviceId: string, options?: RequestOptions) => Promise<Recovered>;
  /**
   * Saves an outcome that the operator determined. A terminal forgets a service after 48 hours.
   *
   * @throws PosError `service_unknown` if no service with an unknown outcome has this identifier
   */
  readonly settle: (serviceId: string, how: 'Done' | 'NotDone') => Promise<void>;
  /**
   * Frees the terminal. The next `open` requests the outcome of a service that still runs.
   *
   * @throws PosError if the connector did not receive it; the terminal is then free a minute later
   */
  readonly close: () => Promise<void>;
};

type Opening = {
  readonly recovered: Promise<readonly Recovered[]>;
  readonly work: AbortController;
  /** Callers of `open` that still wait. */
  waiting: number;
};

const cloudAnswerMs = 150_000;
const localAnswerMs = 120_000;
/** The handshake timeout of a WebSocket in the local network. */
const handshakeMs = 10_000;
const isSocket = /^wss?:/i;

function cloudPart(
  { client, tsn, waitSeconds, takeOver }: CloudTransport,
  events: LinkEvents,
): Link {
  return cloudLink({ client, tsn, claim: { waitSeconds, takeOver } }, events);
}

/** A faulty answer has no reliable amounts, but its result `Failure` is reliable. */
function moneyOf(ended: Ended): 'Answered' | 'NotProcessed' | 'Unknown' {
  if (ended.outcome !== 'Faulty') return ended.outcome;
  return ended.response.Result === 'Failure' ? 'NotProcessed' : 'Unknown';
}

function demandAnswered({ outcome, fault, ...rest }: Ended, serviceId: string) {
  if (outcome === 'Answered' && 'message' in rest) return rest.message;
  if (outcome === 'Faulty' && 'response' in rest) {
    const { Result, ErrorCondition: condition } = rest.response;
    const unknown = Result === 'Failure' ? 'NotProcessed' : 'Unknown';
    const facts = { code: 'answer_faulty', outcome: unknown, condition, serviceId } as const;
    throw new PosError('Terminal', `the answer is at fault; its result is ${Result}`, facts);
  }
  if (outcome === 'NotProcessed') {
    if (fault !== undefined) throw fault;
    const facts = { code: 'not_processed', serviceId, retryable: true };
    throw new PosError('Terminal', 'the terminal never had the request', facts);
  }
  throw new PosError('Terminal', 'nobody could tell how the service ended', {
    code: 'outcome_unknown',
    outcome: 'Unknown',
    serviceId,
  });
}

function answerOf<Of extends Category>(ended: Ended, serviceId: string): Answer<Of> {
  const message = demandAnswered(ended, serviceId);
  const response = resultOf(message);
  const condition = response?.ErrorCondition;
  return {
    result: response?.Result ?? 'Success',
    ...defined({
      condition,
      advice: condition === undefined ? undefined : conditionFacts(condition).advice,
    }),
    serviceId,
    message: message as unknown as Answer<Of>['message'],
  };
}

/**
 * Returns the answer if it is a success, complete or partial.
 *
 * @param answer - the result of `request`
 * @returns the same answer
 * @throws PosError of kind `Terminal` with `condition`, if the result is `Failure`
 * @example
 * const { message } = demandSuccess(await terminal.request('Login', body));
 */
export function demandSuccess<Of extends Category>(answer: Answer<Of>): Answer<Of> {
  if (answer.result !== 'Failure') return answer;
  const { condition, serviceId, advice } = answer;
  throw new PosError('Terminal', `the terminal answered ${condition ?? 'Failure'}`, {
    code: 'refused',
    condition,
    serviceId,
    retryable: advice === 'Later' || advice === 'New',
  });
}

/**
 * Makes a terminal for a till.
 *
 * - One service runs at a time, in the order of the calls.
 * - The till saves each service before it sends it.
 * - After a break, a timeout or a restart it sends TransactionStatus until it knows the outcome.
 * - It reports an outcome that it cannot determine as `Unknown`.
 *
 * @param settings - the parties, the transport and the store
 * @returns the terminal; call `open` first, and `close` at the end
 * @throws PosError for an unsafe address; NexoError for an invalid key
 * @example
 * const terminal = createTerminal({
 *   saleId: 'till-3', poiId: tsn, transport: { kind: 'cloud', client, tsn },
 *   store: fileServiceStore('data/till-3.jsonl'),
 * });
 * for (const recovered of await terminal.open()) settle(recovered);
 * const answer = await terminal.sale({ amount: 1250, currency: 'EUR', transactionId: '4711' });
 */
export function createTerminal(settings: TerminalSettings): Terminal {
  const { saleId, poiId, transport, store, keys, clock = systemClock } = settings;
  const inTurn = createTurns();
  const answerMs =
    settings.times?.answerMs ?? (transport.kind === 'local' ? localAnswerMs : cloudAnswerMs);
  const times = { ...settings.times, answerMs };
  const services = new Map<string, KeptService>();
  let opening: Opening | undefined;
  let earlier: Promise<void> = Promise.resolve();
  let exchange: Exchange | undefined;

  function localPart({ url, tls = {} }: LocalTransport, events: LinkEvents): Link {
    return isSocket.test(url)
      ? localSocketLink({ url, tls, timeoutMs: handshakeMs, clock }, events)
      : localLink({ url, tls, answerMs, clock }, events);
  }

  function makeLink(events: LinkEvents): Link {
    if (transport.kind === 'cloud') return cloudPart(transport, events);
    if (transport.kind === 'local') return localPart(transport, events);
    return autoLink(cloudPart(transport.cloud, events), localPart(transport.local, events));
  }

  async function keep(kept: KeptService): Promise<void> {
    services.set(kept.serviceId, kept);
    await store.save(kept);
  }

  /**
   * Deletes services that are older than the terminal's memory. Unfinished services stay, and so do
   * unknown ones of a category that TransactionStatus can repeat.
   */
  async function forget(): Promise<void> {
    const before = clock.now() - serviceIdKeptMs;
    for (const { serviceId, at, outcome, header } of [...services.values()]) {
      if (at >= before) return;
      const canBeAsked = categoryRules(header.MessageCategory).repeated === true;
      if (outcome === undefined || (outcome === 'Unknown' && canBeAsked)) continue;
      services.delete(serviceId);
      await store.remove(serviceId);
    }
  }

  /**
   * Saves a known outcome. A failure of the store is only reported, so that the caller gets the
   * outcome.
   */
  async function note(
    kept: KeptService,
    outcome: NonNullable<KeptService['outcome']>,
  ): Promise<void> {
    try {
      await keep({ ...kept, outcome });
      await forget();
    } catch (error) {
      settings.onFault?.(invalid('store_failed', 'the outcome could not be kept', error));
    }
  }

  function named(serviceId: string): KeptService {
    const kept = services.get(serviceId);
    if (kept === undefined) throw invalid('service_unknown', 'there is no such service');
    return kept;
  }

  /**
   * Requests and saves in one queue entry, so that `settle` cannot run between. A known outcome
   * stays.
   */
  async function recoverOne(
    serviceId: string,
    through: Exchange,
    signal: AbortSignal | undefined,
  ): Promise<Recovered> {
    const kept = named(serviceId);
    const ended = await through.recover(kept, signal);
    const told = moneyOf(ended);
    const outcome = told === 'Unknown' ? (kept.outcome ?? told) : told;
    await note(kept, outcome);
    return { kept, outcome, ...(ended.outcome === 'Answered' ? { message: ended.message } : {}) };
  }

  async function settle(serviceId: string, outcome: 'Answered' | 'NotProcessed'): Promise<void> {
    const kept = services.get(serviceId);
    if (kept?.outcome !== 'Unknown') {
      throw invalid('service_unknown', 'there is no such service whose outcome is unknown');
    }
    const settled = { ...kept, outcome };
    try {
      await store.save(settled);
    } catch (error) {
      throw invalid('store_failed', textOf(error), error);
    }
    services.set(serviceId, settled);
  }

  async function start(signal: AbortSignal): Promise<readonly Recovered[]> {
    const loaded = [...(await store.load())].toSorted((a, b) => a.at - b.at);
    for (const kept of loaded) services.set(kept.serviceId, kept);
    const last = loaded
      .map(({ serviceId }) => serviceId)
      .toSorted()
      .at(-1);
    const now = () => clock.now();
    const nextServiceId = createServiceIds({
      now,
      randomBelow: (limit) => randomInt(limit),
      ...defined({ last }),
    });
    const protection = keys === undefined ? undefined : createProtection({ keys, randomBytes });
    const made = createExchange(
      {
        dialogue: { saleId, poiId, now, nextServiceId, times },
        protection,
        clock,
        answerMs,
        devices: settings.devices,
        onEvent: settings.onEvent,
        onLate: settings.onLate,
        onFault: settings.onFault,
      },
      makeLink,
    );
    exchange = made;
    const recovered: Recovered[] = [];
    for (const { serviceId } of loaded.filter(({ outcome }) => outcome === undefined)) {
      recovered.push(await inTurn(() => recoverOne(serviceId, made, signal), signal));
    }
    await forget();
    return recovered;
  }

  async function closeFailed(): Promise<void> {
    const failed = exchange;
    exchange = undefined;
    try {
      await failed?.close();
    } catch (error) {
      settings.onFault?.(invalid('close_failed', 'what was opened could not be closed', error));
    }
  }

  /** Starts after the resources of an earlier attempt are closed. */
  function begin(): Opening {
    const work = new AbortController();
    const recovered = earlier.then(() => start(work.signal));
    earlier = recovered.then(() => undefined, closeFailed);
    return { recovered, work, waiting: 0 };
  }

  /** Several callers can share one opening. It continues until the last caller aborts. */
  async function open({ signal }: RequestOptions = {}): Promise<readonly Recovered[]> {
    if (signal?.aborted === true) throw aborted();
    opening ??= begin();
    const shared = opening;
    shared.waiting += 1;
    try {
      return await unlessAborted(shared.recovered, signal);
    } catch (error) {
      shared.waiting -= 1;
      const isOwnEnd = error instanceof PosError && error.kind === 'Aborted';
      if (isOwnEnd && shared.waiting > 0) throw error;
      shared.work.abort();
      if (opening === shared) opening = undefined;
      throw error;
    }
  }

  function opened(): Exchange {
    if (exchange === undefined) throw invalid('not_open', '`open` comes first');
    return exchange;
  }

  async function service<Of extends Asked>(
    category: Of,
    body: RequestBody<Of>,
    signal: AbortSignal | undefined,
  ): Promise<Answer<Of>> {
    let begun: KeptService | undefined;
    const { ended, serviceId } = await opened().run(category, body, {
      signal,
      async keep(header: Header) {
        begun = { serviceId: header.ServiceID ?? '', header, at: clock.now() };
        await keep(begun);
      },
    });
    if (begun !== undefined) await note(begun, moneyOf(ended));
    return answerOf<Of>(ended, serviceId);
  }

  async function request<Of extends Asked>(
    category: Of,
    body: RequestBody<Of>,
    { signal }: RequestOptions = {},
  ): Promise<Answer<Of>> {
    const through = opened();
    const facts = categoryRules(category);
    if (facts.class === 'Service' && facts.besides !== true) {
      return inTurn(() => service(category, body, signal), signal);
    }
    const asked =
      facts.class === 'Device'
        ? await through.device(category, body, signal)
        : await through.ask(category, body, signal);
    return answerOf<Of>(asked.ended, asked.serviceId);
  }

  const at = () => new Date(clock.now()).toISOString();

  return {
    open,
    request,
    sale: async (order, options) => request('Payment', paymentBody(order, at()), options),
    refund: async (order, options) =>
      request('Payment', paymentBody(order, at(), 'Refund'), options),
    reverse: async (order, options) => request('Reversal', reversalBody(order), options),
    updateInput: async (body, { signal } = {}) => opened().notify('InputUpdate', body, signal),
    unknown: () => [...services.values()].filter(({ outcome }) => outcome === 'Unknown'),
    async recover(serviceId, { signal } = {}) {
      named(serviceId);
      const through = opened();
      return inTurn(() => recoverOne(serviceId, through, signal), signal);
    },
    async settle(serviceId, how) {
      opened();
      await inTurn(() => settle(serviceId, how === 'Done' ? 'Answered' : 'NotProcessed'));
    },
    async close() {
      await exchange?.close();
    },
  };
}
