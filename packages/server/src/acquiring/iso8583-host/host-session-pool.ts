// Manages the sessions with a host, correlates responses, and answers network management requests.
import type { CompiledHost, Iso8583Error, Message } from '@switchyard/iso8583';
import { LRUCache } from 'lru-cache';
import { type Clock, isoTime, type Log, lruCacheOptions } from '../../platform/index.ts';
import type { ZoneKeyRing } from '../keys/import-zone-keys.ts';
import { formatStan } from '../numbering/message-reference.ts';
import {
  type ConnectionPorts,
  drain,
  type ExchangeResult,
  unencodableReason,
} from '../spi/acquirer-spi.ts';
import type { HostTarget } from './host-connection.ts';
import { type HostSession, openHostSession } from './host-session.ts';
import {
  createMessageFraming,
  MacError,
  type MessageFramingOptions,
} from './message-framing-and-mac.ts';
import {
  isKeyUpdate,
  isNetworkManagement,
  isRequest,
  isSignOff,
  isSupportedFunction,
  networkMessage,
  networkResponse,
  parseKeyUpdate,
} from './network-management-messages.ts';
import {
  createPendingRequests,
  notSent,
  notSignedOn,
  type SendOptions,
} from './pending-requests.ts';
import { traceFrames } from './trace-frames.ts';

export type HostLink = ReturnType<typeof openHostLink>;

type HostLinkOptions = Omit<HostTarget, 'reconnectDelaysMs'> &
  Pick<MessageFramingOptions, 'tpdu' | 'hsm'> &
  Pick<ConnectionPorts, 'onFrame' | 'echoIntervalMs'> & {
    compiledHost: CompiledHost;
    /** Default 1. */
    connectionCount?: number | undefined;
    keyRing?: ZoneKeyRing | undefined;
    clock: Clock;
    log: Log;
    onUnmatchedResponse: (answer: Message) => void;
    onAvailabilityChange?: ((available: boolean) => void) | undefined;
    reconnectDelaysMs?: readonly number[];
  };

/** Reconnect delays; jitter reduces each to between 50 % and 100 %. */
export const defaultReconnectDelaysMs = [1000, 2000, 5000, 10_000, 30_000, 60_000] as const;
const defaultEchoSeconds = 60;
const msPerSecond = 1000;
const terminalSignOnTimeoutMs = 5000;
const maxSignedOnTerminals = 100_000;
const keyRequestTimeoutMs = 5000;
const approvedCode = '00';
const terminalNotSignedOn = notSent('the terminal is not signed on');
const keyRejectedCode = '96';
/** ISO 8583:1987, DE39: requested function not supported. */
const unsupportedFunctionCode = '40';

export function openHostLink(options: HostLinkOptions) {
  const { clock, log, keyRing, compiledHost, tpdu, hsm } = options;
  const { signOnBy = 'Connection', echoSeconds = defaultEchoSeconds } = compiledHost.table.network;
  const echoIntervalMs =
    echoSeconds === null ? undefined : (options.echoIntervalMs ?? echoSeconds * msPerSecond);
  const listMacKeyRefs = () => keyRing?.listMacKeyRefs() ?? [];
  const framing = traceFrames(
    createMessageFraming({
      host: compiledHost,
      tpdu,
      hsm,
      listMacKeyRefs,
      onIgnoredField: logIgnoredField,
      findRequest: (response) => pendingRequests.findRequest(response),
    }),
    options.onFrame,
  );
  const loggedFields = new Set<number | undefined>();
  const pendingRequests = createPendingRequests(compiledHost.correlation, nextSignedOnSession);
  const sessions: HostSession[] = [];
  let nextSessionIndex = 0;
  let traceCount = 0;
  let isClosed = false;
  let wasAvailable = false;

  /** Trace numbers of network management messages, shared by all sessions. */
  function nextTraceNumber(): { stan: string; transmittedAt: string } {
    traceCount += 1;
    const transmittedAt = isoTime(clock.now()).slice(5, 19).replace(/\D/g, '');
    return { stan: formatStan(traceCount, compiledHost.table), transmittedAt };
  }

  const isAvailable = () =>
    !isClosed && framing.hasRequiredKeys() && sessions.some((session) => session.isSignedOn());

  function notifyAvailability(): void {
    const available = isAvailable();
    if (available === wasAvailable) return;
    wasAvailable = available;
    options.onAvailabilityChange?.(available);
  }

  /** Round robin over the signed-on sessions. */
  function nextSignedOnSession(): HostSession | undefined {
    if (isClosed) return undefined;
    for (let attempts = 0; attempts < sessions.length; attempts += 1) {
      const session = sessions[nextSessionIndex % sessions.length];
      nextSessionIndex += 1;
      if (session?.isSignedOn()) return session;
    }
    return undefined;
  }

  function receivePayload(session: HostSession, payload: Buffer, headerView: Buffer): void {
    session.recordReceived();
    // A copy, because the connection reuses its buffer.
    const header = Buffer.from(headerView);
    try {
      const message = framing.decodeMessage(payload);
      if (message instanceof Promise)
        message.then((read) => handleMessage(session, read, header)).catch(logUnreadableMessage);
      else handleMessage(session, message, header);
    } catch (error) {
      logUnreadableMessage(error);
    }
  }

  // The pending request times out and is reversed. The stream is still in sync.
  const logUnreadableMessage = (error: unknown): void =>
    log.warn({ err: error }, 'host sent a message that could not be decoded');

  /** Logs each field once. */
  function logIgnoredField(error: Iso8583Error): void {
    const { field } = error;
    if (loggedFields.has(field)) return;
    loggedFields.add(field);
    log.warn(
      { err: error },
      `the platform ignores field ${field} of a host message, because its characters are not valid; correct its format in the host table`,
    );
  }

  function handleMessage(session: HostSession, message: Message, header: Buffer): void {
    if (!isRequest(message)) {
      if (!pendingRequests.resolveResponse(message)) options.onUnmatchedResponse(message);
    } else if (session.exceedsRequestRate())
      session.connection.reconnect('the host exceeded the request rate limit');
    else void respondToHost(session, message, header);
  }

  // Hosts send echo, key update and sign-off requests. Other requests get no response.
  async function respondToHost(
    session: HostSession,
    request: Message,
    header: Buffer,
  ): Promise<void> {
    if (isSignOff(request)) {
      terminalSignOns.clear();
      session.handleHostSignOff();
      pendingRequests.handleHostSignOff(session);
    }
    try {
      const response = networkResponse(request, await decideHostRequest(request));
      if (response === undefined) {
        log.warn({ mti: request.mti }, 'host sent a request that the platform does not answer');
        return;
      }
      session.connection.enqueue({ bytes: await framing.encodeMessage(response, header) });
    } catch (error) {
      log.warn({ err: error }, 'response to a host request could not be sent');
    }
  }

  /** Returns the response code; undefined for an approval. */
  async function decideHostRequest(request: Message): Promise<string | undefined> {
    const { mti, fields } = request;
    if (isNetworkManagement(request) && !isSupportedFunction(request)) {
      const logContext = { mti, functionCode: fields[70], responseCode: unsupportedFunctionCode };
      log.warn(logContext, 'host requested a function that the platform does not support');
      return unsupportedFunctionCode;
    }
    return !isKeyUpdate(request) || (await importHostKey(request)) ? undefined : keyRejectedCode;
  }

  async function importHostKey(message: Message): Promise<boolean> {
    const update = parseKeyUpdate(message);
    if (update === undefined) {
      const { mti, fields } = message;
      const problem = 'host sent a key in another format than keyChange of its table; rejected';
      log.error({ mti, stan: fields[11] }, problem);
    }
    const isAccepted = update !== undefined && (await keyRing?.importKey(update)) === true;
    notifyAvailability();
    return isAccepted;
  }

  function reportEncodingFailure(error: unknown): ExchangeResult<Message> {
    log.error({ err: error }, 'message could not be encoded');
    return notSent(error instanceof MacError ? 'MAC unavailable' : unencodableReason);
  }

  /** Synchronous up to the write if the message has no MAC. */
  function exchange(
    message: Message,
    sendOptions: SendOptions,
    ownSession?: HostSession,
  ): Promise<ExchangeResult<Message>> {
    const sendBytes = (bytes: Buffer): Promise<ExchangeResult<Message>> => {
      const session = ownSession ?? nextSignedOnSession();
      if (session === undefined) return Promise.resolve(notSignedOn);
      return pendingRequests.send(session, message, bytes, sendOptions);
    };
    try {
      const bytes = framing.encodeMessage(message);
      return bytes instanceof Promise
        ? bytes.then(sendBytes, reportEncodingFailure)
        : sendBytes(bytes);
    } catch (error) {
      return Promise.resolve(reportEncodingFailure(error));
    }
  }

  /** A response to a sign-on or key request can have a new key. */
  async function sendNetworkRequest(
    session: HostSession,
    message: Message,
    timeoutMs: number,
  ): Promise<ExchangeResult<Message>> {
    const answer = await exchange(message, { timeoutMs, isNetworkMessage: true }, session);
    if (answer.result === 'Responded' && parseKeyUpdate(answer.response) !== undefined)
      await importHostKey(answer.response);
    return answer;
  }

  /** Terminals that signed on since a connection opened, with pending sign-ons. */
  const terminalSignOns = new LRUCache<string, Promise<boolean>>(
    lruCacheOptions(maxSignedOnTerminals),
  );

  async function signOnTerminal({ fields }: Message, timeoutMs: number): Promise<boolean> {
    const session = nextSignedOnSession();
    if (session === undefined) return false;
    const { 41: terminal, 42: merchant } = fields;
    const message = networkMessage('signOn', nextTraceNumber(), { 41: terminal, 42: merchant });
    const answer = await sendNetworkRequest(session, message, timeoutMs);
    const code = answer.result === 'Responded' ? answer.response.fields[39] : answer.result;
    if (code === approvedCode) return true;
    log.warn({ terminal, code }, 'the host did not accept the sign-on of a terminal');
    return false;
  }

  /** Signs a terminal on before its first payment; at the same time only once. */
  async function requireTerminalSignOn(message: Message, timeoutMs: number): Promise<boolean> {
    const key = `${message.fields[42]}|${message.fields[41]}`;
    let signOnResult = terminalSignOns.get(key);
    if (signOnResult === undefined) {
      signOnResult = signOnTerminal(message, timeoutMs);
      terminalSignOns.set(key, signOnResult);
    }
    const isSignedOn = await signOnResult;
    if (!isSignedOn) terminalSignOns.delete(key);
    return isSignedOn;
  }

  async function sendAfterTerminalSignOn(
    message: Message,
    timeoutMs: number,
    onPossiblySent?: () => void,
  ): Promise<ExchangeResult<Message>> {
    const startedAt = performance.now();
    const signOnTimeoutMs = Math.min(terminalSignOnTimeoutMs, timeoutMs / 2);
    if (!(await requireTerminalSignOn(message, signOnTimeoutMs))) return terminalNotSignedOn;
    const remainingMs = timeoutMs - (performance.now() - startedAt);
    return exchange(message, { timeoutMs: remainingMs, onPossiblySent, isNetworkMessage: false });
  }

  function handleConnectionLost(session: HostSession): void {
    terminalSignOns.clear();
    pendingRequests.handleConnectionLost(session);
  }

  /** Returns the response code of the host; undefined without a signed-on session or a response. */
  async function requestKeys(session = nextSignedOnSession()): Promise<string | undefined> {
    if (session === undefined) return undefined;
    const keyRequest = networkMessage('keyRequest', nextTraceNumber());
    const answer = await sendNetworkRequest(session, keyRequest, keyRequestTimeoutMs);
    if (answer.result !== 'Responded') return undefined;
    return answer.response.fields[39];
  }

  // Some hosts do not support this request.
  function requestFirstKeys(session: HostSession): void {
    if (keyRing?.shouldRequestKeys() === true)
      void requestKeys(session).catch(logUnreadableMessage);
  }

  for (let count = 0; count < (options.connectionCount ?? 1); count += 1) {
    const session = openHostSession({
      ...options,
      reconnectDelaysMs: options.reconnectDelaysMs ?? defaultReconnectDelaysMs,
      requiresSignOn: signOnBy === 'Connection',
      echoIntervalMs,
      framing,
      nextTraceNumber,
      sendNetworkRequest,
      onPayload: receivePayload,
      onLost: handleConnectionLost,
      onSignedOnChange: notifyAvailability,
      onSignedOn: requestFirstKeys,
    });
    sessions.push(session);
  }

  return {
    isAvailable,
    requestKeys: () => requestKeys(),
    countSignedOnSessions: () => sessions.filter((session) => session.isSignedOn()).length,
    findFault: () => sessions.find((session) => !session.isSignedOn())?.findFault(),
    sendRequest: (
      message: Message,
      timeoutMs: number,
      onPossiblySent?: () => void,
    ): Promise<ExchangeResult<Message>> => {
      if (!isAvailable()) return Promise.resolve(notSignedOn);
      return signOnBy === 'Terminal'
        ? sendAfterTerminalSignOn(message, timeoutMs, onPossiblySent)
        : exchange(message, { timeoutMs, onPossiblySent, isNetworkMessage: false });
    },
    /** Rejects new messages, waits for pending responses, signs off and disconnects. */
    async close(drainTimeoutMs: number): Promise<void> {
      // A signed-off host may still send pending responses.
      const needsDrain =
        sessions.some((session) => session.isSignedOn()) || pendingRequests.hasPendingPayments();
      isClosed = true;
      if (needsDrain) await drain(pendingRequests.isIdle, drainTimeoutMs);
      await Promise.all(sessions.map((session) => session.signOff()));
      for (const session of sessions) session.close();
      notifyAvailability();
    },
  };
}
