/** A terminal for a point of sale: runs one service at a time and never guesses an outcome. */

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
  serviceIdRetentionMs,
} from '@switchyard/nexo';
import { errorText, systemClock, unlessAborted } from '@switchyard/sdk-core';
import { abortedError, createPosError, invalidError, PosError } from '../support/pos-error.ts';
import { createSerialQueue } from '../support/serial-queue.ts';
import { localWebsocketLink } from './local-websocket-link.ts';
import {
  createMessageExchange,
  type EndedService,
  type MessageExchange,
} from './message-exchange.ts';
import {
  type PaymentOrder,
  paymentBody,
  type ReversalOrder,
  reversalBody,
} from './payment-requests.ts';
import type { StoredService } from './service-store.ts';
import {
  autoLink,
  cloudLink,
  type LinkHandlers,
  localLink,
  type TerminalLink,
} from './terminal-links.ts';
import type {
  CloudTransport,
  LocalTransport,
  RecoveredService,
  RequestBody,
  RequestCategory,
  TerminalResponse,
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
   * Call it first. It reads the store, requests the outcomes of services that had none before a
   * restart, and reports them to `onOutcome`. Then `recover` each of `unknownServices`: `open` does
   * not request again what an earlier run reported as `Unknown`. An abort ends the requests; `open`
   * can be called again.
   */
  readonly open: (options?: RequestOptions) => Promise<readonly RecoveredService[]>;
  /**
   * Sends one service or one device message. Services run one after the other; Diagnosis,
   * TransactionStatus and device messages do not wait.
   *
   * @throws PosError: check `outcome`; `Unknown` means that money may have moved
   */
  readonly request: <Name extends RequestCategory>(
    category: Name,
    body: RequestBody<Name>,
    options?: RequestOptions,
  ) => Promise<TerminalResponse<Name>>;
  /**
   * Takes a payment. If no answer comes in time, it requests the outcome from the terminal (`times` of
   * the settings). A refusal is an answer with the result `Failure`.
   *
   * @throws PosError: `Unknown` if the terminal did not report the outcome
   */
  readonly sale: (
    order: PaymentOrder,
    options?: RequestOptions,
  ) => Promise<TerminalResponse<'Payment'>>;
  /** Returns money to the customer; pass the payment as `original`. It waits and throws as `sale`. */
  readonly refund: (
    order: PaymentOrder,
    options?: RequestOptions,
  ) => Promise<TerminalResponse<'Payment'>>;
  /** Undoes a whole payment, once. It waits and throws as `sale`. */
  readonly reverse: (
    order: ReversalOrder,
    options?: RequestOptions,
  ) => Promise<TerminalResponse<'Reversal'>>;
  /** Ends or changes a running input at the terminal. */
  readonly updateInput: (body: object, options?: RequestOptions) => Promise<void>;
  /** Services with an unknown outcome, and those for which `onOutcome` failed. Sell only if it is empty. */
  readonly unknownServices: () => readonly StoredService[];
  /**
   * Requests the outcome of a stored service again, and reports it to `onOutcome`. A stored `Answered`
   * or `NotProcessed` stays, unless the terminal repeats an answer. An abort ends the requests and
   * keeps the outcome.
   */
  readonly recover: (serviceId: string, options?: RequestOptions) => Promise<RecoveredService>;
  /**
   * Saves an outcome that the operator determined, after it was reported to `onOutcome` without a
   * message. A terminal forgets a service after 48 hours. Set `NotDone` at the earliest five minutes
   * after the begin of the service: before that the payment can still run.
   *
   * @throws PosError `service_unknown` if no service with an unknown outcome has this identifier;
   *   `store_failed` if `onOutcome` or the store failed, and then the outcome stays unknown
   */
  readonly setOutcome: (serviceId: string, how: 'Done' | 'NotDone') => Promise<void>;
  /**
   * Frees the terminal. The next `open` requests the outcome of a service that still runs.
   *
   * @throws PosError if the connector did not receive it; the terminal is then free a minute later
   */
  readonly close: () => Promise<void>;
};

type SharedOpening = {
  readonly recovered: Promise<readonly RecoveredService[]>;
  readonly work: AbortController;
  /** Callers of `open` that still wait. */
  waiting: number;
};

const cloudAnswerMs = 150_000;
const localAnswerMs = 120_000;
/** The handshake timeout of a WebSocket in the local network. */
const handshakeMs = 10_000;
const isWebsocketUrl = /^wss?:/i;

/** The till's own identifier of the sale. */
function transactionIdOf(body: object): string | undefined {
  const { SaleData: data } = body as {
    SaleData?: { SaleTransactionID?: { TransactionID?: string } };
  };
  return data?.SaleTransactionID?.TransactionID;
}

function makeCloudLink(
  { client, tsn, waitSeconds, takeOver }: CloudTransport,
  handlers: LinkHandlers,
): TerminalLink {
  return cloudLink({ client, tsn, claim: { waitSeconds, takeOver } }, handlers);
}

type Outcome = RecoveredService['outcome'];

/** A faulty answer has no reliable amounts, but its result `Failure` is reliable. */
function toServiceOutcome(ended: EndedService): Outcome {
  if (ended.outcome !== 'Faulty') return ended.outcome;
  return ended.response.Result === 'Failure' ? 'NotProcessed' : 'Unknown';
}

/** A settled outcome changes only if the terminal repeats an answer. */
function keepSettled(stored: StoredService['outcome'], recovered: Outcome): Outcome {
  return recovered === 'Answered' || stored === undefined || stored === 'Unknown'
    ? recovered
    : stored;
}

function requireAnswer({ outcome, fault, ...rest }: EndedService, serviceId: string) {
  if (outcome === 'Answered' && 'message' in rest) return rest.message;
  if (outcome === 'Faulty' && 'response' in rest) {
    const { Result, ErrorCondition: condition } = rest.response;
    const moneyOutcome = Result === 'Failure' ? 'NotProcessed' : 'Unknown';
    const details = { code: 'answer_faulty', outcome: moneyOutcome, condition, serviceId } as const;
    throw new PosError('Terminal', `the response is not valid; its result is ${Result}`, details);
  }
  if (outcome === 'NotProcessed') {
    if (fault !== undefined) throw fault;
    const details = { code: 'not_processed', serviceId, retryable: true };
    throw new PosError('Terminal', 'the terminal did not receive the request', details);
  }
  throw new PosError('Terminal', 'the outcome of the service is unknown', {
    code: 'outcome_unknown',
    outcome: 'Unknown',
    serviceId,
    condition: 'condition' in rest ? rest.condition : undefined,
  });
}

function toTerminalResponse<Name extends Category>(
  ended: EndedService,
  serviceId: string,
): TerminalResponse<Name> {
  const message = requireAnswer(ended, serviceId);
  const response = resultOf(message);
  const condition = response?.ErrorCondition;
  return {
    result: response?.Result ?? 'Success',
    ...defined({
      condition,
      advice: condition === undefined ? undefined : conditionFacts(condition).advice,
    }),
    serviceId,
    message: message as unknown as TerminalResponse<Name>['message'],
  };
}

/**
 * Returns the answer if it is a success, complete or partial.
 *
 * @param answer - the result of `request`
 * @returns the same answer
 * @throws PosError of kind `Terminal` with `condition`, if the result is `Failure`
 * @example
 * const { message } = requireSuccess(await terminal.request('Login', body));
 */
export function requireSuccess<Name extends Category>(
  answer: TerminalResponse<Name>,
): TerminalResponse<Name> {
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
 *   store: fileServiceStore(`data/till-3-${tsn}.jsonl`), onOutcome: storeResult,
 * });
 * await terminal.open();
 * const answer = await terminal.sale({ amount: 1250, currency: 'EUR', transactionId: '4711' });
 */
export function createTerminal(settings: TerminalSettings): Terminal {
  const { saleId, poiId, transport, store, keys, clock = systemClock } = settings;
  const runInOrder = createSerialQueue();
  const answerMs =
    settings.times?.answerMs ?? (transport.kind === 'local' ? localAnswerMs : cloudAnswerMs);
  const times = { ...settings.times, answerMs };
  const services = new Map<string, StoredService>();
  let opening: SharedOpening | undefined;
  let previousOpening: Promise<void> = Promise.resolve();
  let exchange: MessageExchange | undefined;

  function makeLocalLink({ url, tls = {} }: LocalTransport, handlers: LinkHandlers): TerminalLink {
    return isWebsocketUrl.test(url)
      ? localWebsocketLink({ url, tls, timeoutMs: handshakeMs, clock }, handlers)
      : localLink({ url, tls, answerMs, clock }, handlers);
  }

  function makeLink(handlers: LinkHandlers): TerminalLink {
    if (transport.kind === 'cloud') return makeCloudLink(transport, handlers);
    if (transport.kind === 'local') return makeLocalLink(transport, handlers);
    return autoLink(
      makeCloudLink(transport.cloud, handlers),
      makeLocalLink(transport.local, handlers),
    );
  }

  async function saveService(service: StoredService): Promise<void> {
    services.set(service.serviceId, service);
    await store.save(service);
  }

  /**
   * Deletes services that are older than the terminal's memory. Unfinished services stay, and so do
   * unknown ones of a category that TransactionStatus can repeat.
   */
  async function removeExpired(): Promise<void> {
    const removeBefore = clock.now() - serviceIdRetentionMs;
    for (const { serviceId, at, outcome, header } of [...services.values()]) {
      if (at >= removeBefore) return;
      const canRepeatStatus = categoryRules(header.MessageCategory).repeated === true;
      if (outcome === undefined || (outcome === 'Unknown' && canRepeatStatus)) continue;
      services.delete(serviceId);
      await store.remove(serviceId);
    }
  }

  /** The last service before this time that the terminal answered and can repeat. */
  function answeredBefore(at: number): Header | undefined {
    return [...services.values()]
      .filter(({ outcome, header }) => outcome === 'Answered' && header.POIID === poiId)
      .filter((each) => each.at < at && categoryRules(each.header.MessageCategory).repeated)
      .toSorted((a, b) => a.at - b.at)
      .at(-1)?.header;
  }

  /**
   * Reports an outcome to the till and saves it. If either fails, the next `open` requests and
   * reports it again; the caller gets the outcome in any case.
   */
  async function reportOutcome(
    service: StoredService,
    ended: EndedService,
  ): Promise<RecoveredService> {
    const outcome = keepSettled(service.outcome, toServiceOutcome(ended));
    const result: RecoveredService = {
      service,
      outcome,
      ...defined({
        message: 'message' in ended ? ended.message : undefined,
        condition: 'condition' in ended ? ended.condition : undefined,
      }),
    };
    // `unknownServices` has it until the till has taken the outcome.
    services.set(service.serviceId, { outcome: 'Unknown', ...service });
    try {
      await settings.onOutcome?.(result);
      await saveService({ ...service, outcome });
      await removeExpired();
    } catch (error) {
      settings.onError?.(invalidError('store_failed', 'the outcome could not be saved', error));
    }
    return result;
  }

  function requireService(serviceId: string): StoredService {
    const service = services.get(serviceId);
    if (service === undefined)
      throw invalidError('service_unknown', 'no service with this identifier is stored');
    return service;
  }

  /** Requests and saves in one queue entry, so that `setOutcome` cannot run between. */
  async function recoverService(
    serviceId: string,
    exchange: MessageExchange,
    signal: AbortSignal | undefined,
  ): Promise<RecoveredService> {
    const service = requireService(serviceId);
    const lastAnswered = answeredBefore(service.at);
    return reportOutcome(service, await exchange.recover(service, { lastAnswered, signal }));
  }

  async function saveOperatorOutcome(
    serviceId: string,
    outcome: 'Answered' | 'NotProcessed',
  ): Promise<void> {
    const service = services.get(serviceId);
    if (service?.outcome !== 'Unknown') {
      throw invalidError(
        'service_unknown',
        'no service with this identifier has an unknown outcome',
      );
    }
    const updated = { ...service, outcome };
    try {
      await settings.onOutcome?.({ service, outcome });
      await store.save(updated);
    } catch (error) {
      throw invalidError('store_failed', errorText(error), error);
    }
    services.set(serviceId, updated);
  }

  async function start(signal: AbortSignal): Promise<readonly RecoveredService[]> {
    const loaded = [...(await store.load())].toSorted((a, b) => a.at - b.at);
    for (const service of loaded) services.set(service.serviceId, service);
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
    const newExchange = createMessageExchange(
      {
        dialogue: {
          saleId,
          poiId,
          now,
          nextServiceId,
          times,
          ...defined({ lastAnswered: answeredBefore(clock.now()) }),
        },
        protection,
        clock,
        answerMs,
        devices: settings.devices,
        onEvent: settings.onEvent,
        onLateResponse: settings.onLateResponse,
        onError: settings.onError,
      },
      makeLink,
    );
    exchange = newExchange;
    const recovered: RecoveredService[] = [];
    for (const { serviceId } of loaded.filter(({ outcome }) => outcome === undefined)) {
      recovered.push(
        await runInOrder(() => recoverService(serviceId, newExchange, signal), signal),
      );
    }
    await removeExpired();
    return recovered;
  }

  async function closeFailed(): Promise<void> {
    const failed = exchange;
    exchange = undefined;
    try {
      await failed?.close();
    } catch (error) {
      settings.onError?.(
        invalidError('close_failed', 'the connection of a failed open could not be closed', error),
      );
    }
  }

  /** Starts after the resources of an earlier attempt are closed. */
  function beginOpening(): SharedOpening {
    const work = new AbortController();
    const recovered = previousOpening.then(() => start(work.signal));
    previousOpening = recovered.then(() => undefined, closeFailed);
    return { recovered, work, waiting: 0 };
  }

  /** Several callers can share one opening. It continues until the last caller aborts. */
  async function open({ signal }: RequestOptions = {}): Promise<readonly RecoveredService[]> {
    if (signal?.aborted === true) throw abortedError();
    opening ??= beginOpening();
    const shared = opening;
    shared.waiting += 1;
    try {
      return await unlessAborted(shared.recovered, signal, createPosError);
    } catch (error) {
      shared.waiting -= 1;
      const isCallerAbort = error instanceof PosError && error.kind === 'Aborted';
      if (isCallerAbort && shared.waiting > 0) throw error;
      shared.work.abort();
      if (opening === shared) opening = undefined;
      throw error;
    }
  }

  function requireOpen(): MessageExchange {
    if (exchange === undefined) throw invalidError('not_open', 'call `open` first');
    return exchange;
  }

  async function runService<Name extends RequestCategory>(
    category: Name,
    body: RequestBody<Name>,
    signal: AbortSignal | undefined,
  ): Promise<TerminalResponse<Name>> {
    let startedService: StoredService | undefined;
    const { ended, serviceId } = await requireOpen().runService(category, body, {
      signal,
      async save(header: Header) {
        startedService = {
          serviceId: header.ServiceID ?? '',
          header,
          at: clock.now(),
          ...defined({ transactionId: transactionIdOf(body) }),
        };
        await saveService(startedService);
      },
    });
    if (startedService !== undefined) await reportOutcome(startedService, ended);
    return toTerminalResponse<Name>(ended, serviceId);
  }

  async function request<Name extends RequestCategory>(
    category: Name,
    body: RequestBody<Name>,
    { signal }: RequestOptions = {},
  ): Promise<TerminalResponse<Name>> {
    const exchange = requireOpen();
    const rules = categoryRules(category);
    if (rules.class === 'Service' && rules.besides !== true) {
      return runInOrder(() => runService(category, body, signal), signal);
    }
    const response =
      rules.class === 'Device'
        ? await exchange.sendDeviceRequest(category, body, signal)
        : await exchange.sendRequest(category, body, signal);
    return toTerminalResponse<Name>(response.ended, response.serviceId);
  }

  const timestamp = () => new Date(clock.now()).toISOString();

  return {
    open,
    request,
    sale: async (order, options) => request('Payment', paymentBody(order, timestamp()), options),
    refund: async (order, options) =>
      request('Payment', paymentBody(order, timestamp(), 'Refund'), options),
    reverse: async (order, options) => request('Reversal', reversalBody(order), options),
    updateInput: async (body, { signal } = {}) => requireOpen().notify('InputUpdate', body, signal),
    unknownServices: () => [...services.values()].filter(({ outcome }) => outcome === 'Unknown'),
    async recover(serviceId, { signal } = {}) {
      requireService(serviceId);
      const exchange = requireOpen();
      return runInOrder(() => recoverService(serviceId, exchange, signal), signal);
    },
    async setOutcome(serviceId, how) {
      requireOpen();
      await runInOrder(() =>
        saveOperatorOutcome(serviceId, how === 'Done' ? 'Answered' : 'NotProcessed'),
      );
    },
    async close() {
      await exchange?.close();
    },
  };
}
