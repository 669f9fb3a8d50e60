/** The terminal side of the dialogue: decides how to process each received message. */
import { defined } from '../defined.ts';
import { failureTo } from '../messages/build-message.ts';
import { type AnyMessage, type Header, isMessage } from '../messages/message.ts';
import type { Reading } from '../messages/read-message.ts';
import { categoryRules } from '../table/categories.ts';
import type { OpenValue } from '../table/value-sets.ts';
import { resultOf } from './error-condition-advice.ts';
import { buildEventNotification, buildRejectNotification } from './event-notifications.ts';
import { createServices, type PoiMemory } from './poi-service-records.ts';
import { dialogueKeyOf, statusAnswer } from './transaction-status.ts';

/**
 * The next action of a terminal.
 *
 * - `Run`: do it, and hand the answer to `finish`
 * - `Answer`: send this answer; nothing else is to be done
 * - `Notify`: send this event; there is no answer
 * - `Abort`: interrupt `running`, which then is answered `Aborted`; or call `cannotAbort`
 * - `Take`: an answer to a request of the terminal's own
 * - `Ignore`: nothing is sent; `reason` is for the log
 *
 * Source: ADR 0049.
 *
 * @example
 * const decision: PoiDecision = poi.receive(reading, text);
 */
export type PoiDecision =
  | { readonly do: 'Run'; readonly message: AnyMessage }
  | { readonly do: 'Answer' | 'Notify'; readonly message: AnyMessage }
  | { readonly do: 'Abort'; readonly running: Header; readonly message: AnyMessage }
  | { readonly do: 'Take'; readonly message: AnyMessage; readonly request: Header }
  | { readonly do: 'Ignore'; readonly reason: string };

/**
 * The parameters of the terminal side.
 *
 * Source: ADR 0049.
 *
 * @example
 * const deps: PoiDeps = { poiId: 'AXIUM_DX8000-10000001', now: Date.now };
 */
export type PoiDeps = {
  readonly poiId: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Whether services need a login first; default no. */
  readonly loginRequired?: boolean;
  /** The result of `memory()` before a restart. */
  readonly memory?: PoiMemory;
};

/**
 * The terminal's side.
 *
 * Source: ADR 0049.
 *
 * @example
 * const decision = poi.receive(readMessage(text), text);
 */
export type PoiDialogue = {
  /**
   * Decides what is done with what came; `source` goes back where a message is rejected. A reading that
   * is still protected could not be decrypted, and is rejected.
   */
  readonly receive: (reading: Reading, source: string | Uint8Array) => PoiDecision;
  /** Rejects a message that the channel does not accept; a response is ignored. */
  readonly reject: (reading: Reading, source: string | Uint8Array, details: string) => PoiDecision;
  /** Ends what `Run` began: the answer is kept, to be repeated. Give it the answer before it is sent. */
  readonly finish: (answer: AnyMessage) => void;
  /** The event for an abort that came too late. */
  readonly cannotAbort: (abort: AnyMessage) => AnyMessage;
  /** Writes down a device request of the terminal's own, so that its answer is taken. */
  readonly trackDeviceRequest: (request: AnyMessage) => void;
  /** The service that runs, if one does. */
  readonly running: () => Header | undefined;
  /** The state to store before an answer is sent, so that it survives a restart. */
  readonly memory: () => PoiMemory;
};

/** How many device requests may be under way at once, each side. */
const devicesMax = 16;
/** How many sale systems may be logged in at once; the one that came first is logged out. */
const saleSystemsMax = 1_000;

/**
 * Makes the terminal side of the dialogue. Rules:
 *
 * - The terminal runs one service at a time and answers a second one with `Busy`. Abort,
 *   TransactionStatus, Diagnosis and device messages of the running service are processed in
 *   parallel.
 * - The terminal never runs or answers a ServiceID again within 48 hours. It reports the repetition
 *   with a `Reject` event, which cannot be mistaken for the response to the first request.
 * - The terminal answers TransactionStatus from memory: `InProgress`, the repeated response, or
 *   `NotFound`. `NotFound` means that it never received the service.
 * - An abort has no response of its own: the aborted service responds. `Completed` reports that the
 *   service had already ended.
 * - If a login is required and missing, the response is `LoggedOut`. A message for another terminal
 *   gets `UnavailableDevice`, and an invalid message `MessageFormat`.
 * - A `Reject` event reports every request to which no valid response exists: its class does not
 *   match its category, a device message has neither ServiceID nor DeviceID, the terminal cannot
 *   decrypt it, or it is a rejected abort or notification.
 *
 * Source: nexo Sale to POI 3.0 as public documentation of several vendors describes it; ADR 0049.
 *
 * @param deps - the terminal's name, a clock, and what it remembers
 * @returns the terminal's side
 * @example
 * const poi = createPoiDialogue({ poiId, now });
 */
export function createPoiDialogue(deps: PoiDeps): PoiDialogue {
  const { poiId, now, loginRequired = false } = deps;
  const services = createServices(deps.memory?.services ?? []);
  const loggedIn = new Set(deps.memory?.loggedIn ?? []);
  const devices = new Map<string, Header>();
  const trackedRequests = new Map<string, Header>();
  let running: Header | undefined;

  const at = (): string => new Date(now()).toISOString();
  const addressOf = ({ SaleID, ServiceID }: Header) => ({
    saleId: SaleID,
    poiId,
    ...defined({ serviceId: ServiceID }),
  });

  function rejectSource(
    source: string | Uint8Array,
    header: Header | undefined,
    details: string,
  ): PoiDecision {
    const address = header === undefined ? { saleId: 'N/A', poiId } : addressOf(header);
    return {
      do: 'Notify',
      message: buildRejectNotification(source, address, { at: at(), details }),
    };
  }

  function reject(reading: Reading, source: string | Uint8Array, details: string): PoiDecision {
    if (reading.kind === 'Unreadable') return rejectSource(source, undefined, details);
    const header = reading.kind === 'Message' ? reading.message.header : reading.header;
    if (header.MessageType === 'Response')
      return { do: 'Ignore', reason: `${details}: a response` };
    return rejectSource(source, header, details);
  }

  /**
   * An answer that ends a request at once; its identification is used up like any other. A `Reject`
   * event takes its place where the category has no response.
   */
  function fail(
    request: AnyMessage | Header,
    source: string | Uint8Array,
    condition: OpenValue<'ErrorCondition'>,
    detail?: string,
  ): PoiDecision {
    const facts = { at: at(), ...defined({ detail }) };
    const message = failureTo(request, condition, facts);
    if (message === undefined) {
      const header = 'header' in request ? request.header : request;
      return rejectSource(source, header, detail ?? condition);
    }
    if (message.header.MessageClass === 'Service') services.answered(message, 'refused');
    return { do: 'Answer', message };
  }

  function receive(reading: Reading, source: string | Uint8Array): PoiDecision {
    if (reading.kind === 'Unreadable') return reject(reading, source, 'cannot be read');
    if (reading.kind === 'Protected') return reject(reading, source, 'cannot be decrypted');
    const header = reading.kind === 'Faulty' ? reading.header : reading.message.header;
    if (header.MessageType === 'Response') {
      return reading.kind === 'Message'
        ? takeAnswer(reading.message)
        : { do: 'Ignore', reason: 'a faulty response' };
    }
    // The response repeats the header, so a header that breaks a rule has no valid response.
    if (isUnanswerable(header)) return reject(reading, source, unanswerable(reading));
    if (header.MessageClass === 'Event') return { do: 'Ignore', reason: 'an event of a terminal' };
    if (header.POIID !== poiId) return fail(header, source, 'UnavailableDevice');
    const isService = header.MessageClass === 'Service';
    const noted = !isService || isStateless(header) || services.add(header, now());
    if (!noted) return rejectSource(source, header, 'the ServiceID was used before');
    if (reading.kind === 'Faulty') {
      const [first] = reading.faults;
      return fail(header, source, 'MessageFormat', first && `${first.pointer} ${first.problem}`);
    }
    return isService ? service(reading.message, source) : device(reading.message, source);
  }

  function service(message: AnyMessage, source: string | Uint8Array): PoiDecision {
    const { header } = message;
    const facts = categoryRules(header.MessageCategory);
    if (loginRequired && !loggedIn.has(header.SaleID) && facts.withoutLogin !== true) {
      return fail(message, source, 'LoggedOut');
    }
    if (isMessage(message, 'Abort', 'Request')) return abort(message, source);
    if (isMessage(message, 'TransactionStatus', 'Request')) {
      return { do: 'Answer', message: statusAnswer(message, services, at()) };
    }
    if (facts.besides === true) return { do: 'Run', message };
    if (running !== undefined) return fail(message, source, 'Busy');
    running = header;
    return { do: 'Run', message };
  }

  function abort(
    message: AnyMessage & { readonly body: { readonly MessageReference: Partial<Header> } },
    source: string | Uint8Array,
  ): PoiDecision {
    const { SaleID = message.header.SaleID, ServiceID, DeviceID } = message.body.MessageReference;
    const isReferenced = (header: Header): boolean =>
      header.SaleID === SaleID &&
      (ServiceID === undefined || header.ServiceID === ServiceID) &&
      (DeviceID === undefined || header.DeviceID === DeviceID) &&
      (ServiceID ?? DeviceID) !== undefined;
    const referenced = [...devices.values(), ...(running === undefined ? [] : [running])].find(
      isReferenced,
    );
    if (referenced !== undefined && categoryRules(referenced.MessageCategory).abortable === true) {
      return { do: 'Abort', running: referenced, message };
    }
    const record = ServiceID === undefined ? undefined : services.find(SaleID, ServiceID);
    if (referenced === undefined && record?.answer !== undefined) {
      const address = { saleId: SaleID, poiId, serviceId: record.serviceId };
      return { do: 'Notify', message: buildEventNotification('Completed', address, { at: at() }) };
    }
    return rejectSource(source, message.header, 'nothing that can be aborted');
  }

  function device(message: AnyMessage, source: string | Uint8Array): PoiDecision {
    const { header } = message;
    const other = running !== undefined && header.ServiceID !== running.ServiceID;
    if (header.MessageType === 'Notification') {
      return other ? { do: 'Ignore', reason: 'belongs to no service' } : { do: 'Run', message };
    }
    const pair = dialogueKeyOf(header);
    if (other || devices.has(pair) || devices.size >= devicesMax) {
      return fail(message, source, 'Busy');
    }
    devices.set(pair, header);
    return { do: 'Run', message };
  }

  function takeAnswer(message: AnyMessage): PoiDecision {
    const pair = dialogueKeyOf(message.header);
    const request = trackedRequests.get(pair);
    if (request === undefined) return { do: 'Ignore', reason: 'an answer to nothing' };
    trackedRequests.delete(pair);
    return { do: 'Take', message, request };
  }

  function finish(answer: AnyMessage): void {
    const { header } = answer;
    if (header.MessageClass === 'Device') {
      devices.delete(dialogueKeyOf(header));
      return;
    }
    if (running !== undefined && dialogueKeyOf(running) === dialogueKeyOf(header))
      running = undefined;
    services.answered(answer);
    if (resultOf(answer)?.Result !== 'Success') return;
    if (header.MessageCategory === 'Login') login(header.SaleID);
    if (header.MessageCategory === 'Logout') loggedIn.delete(header.SaleID);
  }

  function login(saleId: string): void {
    loggedIn.delete(saleId);
    loggedIn.add(saleId);
    const [oldest] = loggedIn;
    if (loggedIn.size > saleSystemsMax && oldest !== undefined) loggedIn.delete(oldest);
  }

  function cannotAbort(message: AnyMessage): AnyMessage {
    const source = JSON.stringify({
      SaleToPOIRequest: { MessageHeader: message.header, AbortRequest: message.body },
    });
    return buildRejectNotification(source, addressOf(message.header), {
      at: at(),
      details: 'too late to abort',
    });
  }

  function trackDeviceRequest(request: AnyMessage): void {
    const [oldest] = trackedRequests.keys();
    if (trackedRequests.size >= devicesMax && oldest !== undefined) trackedRequests.delete(oldest);
    trackedRequests.set(dialogueKeyOf(request.header), request.header);
  }

  return {
    receive,
    reject,
    finish,
    cannotAbort,
    trackDeviceRequest,
    running: () => running,
    memory: () => ({ services: services.all(), loggedIn: [...loggedIn] }),
  };
}

/** Whether no response to the header can be written. A category without responses breaks no rule by it. */
function isUnanswerable(header: Header): boolean {
  const { MessageClass, MessageCategory, MessageType, ServiceID, DeviceID } = header;
  const facts = categoryRules(MessageCategory);
  if (facts.class !== MessageClass || facts.bodies[MessageType] === undefined) return true;
  if (MessageClass === 'Service') return ServiceID === undefined;
  return MessageClass === 'Device' && (ServiceID ?? DeviceID) === undefined;
}

function unanswerable(reading: Reading): string {
  const [first] = 'faults' in reading ? reading.faults : [];
  return first === undefined ? 'the header breaks a rule' : `${first.pointer} ${first.problem}`;
}

/** Asking for a state twice does no harm, and an abort has no answer that could be confused. */
function isStateless({ MessageCategory }: Header): boolean {
  return categoryRules(MessageCategory).besides === true;
}
