// Manages the sessions with a host, correlates responses, and answers network management requests.
import type { Host, Message } from '@switchyard/iso8583';
import { type Clock, isoTime, type Log } from '../../platform/index.ts';
import type { Hsm } from '../../vault/index.ts';
import type { TlsIdentity } from '../keys/client-certificate-store.ts';
import type { ZoneKeyRing } from '../keys/zone-key-exchange.ts';
import { formatStan } from '../numbering/stan-and-terminal-id.ts';
import { type ExchangeResult, type HostSession, openHostSession } from './host-session.ts';
import { createMessageFraming, MacError, type MessageFraming } from './message-framing.ts';
import {
  isKeyUpdate,
  isRequest,
  isSignOff,
  networkMessage,
  networkResponse,
  parseKeyUpdate,
} from './network-management.ts';
import { createPendingRequests, notSignedOn } from './pending-requests.ts';

export type { ExchangeResult } from './host-session.ts';

export type HostLink = {
  isAvailable(): boolean;
  /** Number of signed-on sessions. */
  countSignedOnSessions(): number;
  sendRequest(
    message: Message,
    timeoutMs: number,
    onPossiblySent?: () => void,
  ): Promise<ExchangeResult>;
  /** Rejects new messages, waits for pending responses, signs off and disconnects. */
  close(drainTimeoutMs: number): Promise<void>;
};

export type HostLinkOptions = {
  host: string;
  port: number;
  tls: boolean;
  /** TLS client certificate for the host. */
  tlsIdentity?: TlsIdentity | undefined;
  /** Compiled dialect table. */
  compiledHost: Host;
  tpdu?: string | undefined;
  /** Default 1. */
  connectionCount?: number | undefined;
  hsm?: Pick<Hsm, 'mac'> | undefined;
  keyRing?: ZoneKeyRing | undefined;
  clock: Clock;
  log: Log;
  /** Called for each response without a pending request. */
  onUnmatchedResponse: (answer: Message) => void;
  onAvailabilityChange?: (available: boolean) => void;
  echoIntervalMs?: number;
  /** Reconnect delays; the last one repeats. */
  reconnectDelaysMs?: readonly number[];
  /** Unread payment bytes after which the connection counts as lost. */
  maxUnreadPaymentBytes?: number;
};

/** Reconnect delays; jitter reduces each to between 50 % and 100 %. */
export const defaultReconnectDelaysMs = [1000, 2000, 5000, 10_000, 30_000, 60_000] as const;
const defaultEchoIntervalMs = 60_000;
const keyRequestTimeoutMs = 5000;
const keyRejectedCode = '96';

const framingFor = ({
  compiledHost: spoken,
  tpdu,
  hsm,
  keyRing: keys,
}: HostLinkOptions): MessageFraming =>
  createMessageFraming({
    host: spoken,
    tpdu,
    hsm,
    listMacKeyRefs: () => keys?.listMacKeyRefs() ?? [],
  });

/** Address and TLS settings of the host. */
const connectionTarget = ({
  host,
  port,
  tls,
  tlsIdentity,
  maxUnreadPaymentBytes,
}: HostLinkOptions) => ({
  host,
  port,
  tls,
  tlsIdentity,
  maxUnreadPaymentBytes,
});

/** Trace numbers of network management messages, shared by all sessions. */
function createTraceNumbers(clock: Clock): () => { stan: string; transmittedAt: string } {
  let count = 0;
  return () => {
    count += 1;
    const transmittedAt = isoTime(clock.now()).slice(5, 19).replace(/\D/g, '');
    return { stan: formatStan(count), transmittedAt };
  };
}

/** @example const link = openLink({ host, port, tls: false, spoken, clock, log, onUnmatched }); */
export function openHostLink(options: HostLinkOptions): HostLink {
  const {
    clock,
    log,
    keyRing: keys,
    reconnectDelaysMs: backOffMs = defaultReconnectDelaysMs,
  } = options;
  const framing = framingFor(options);
  const nextTraceNumber = createTraceNumbers(clock);
  const pendingRequests = createPendingRequests({ freeSeat: nextSignedOnSession });
  const sessions: HostSession[] = [];
  let nextSessionIndex = 0;
  let isClosed = false;
  let wasAvailable = false;

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

  function receivePayload(session: HostSession, payload: Buffer): void {
    session.recordReceived();
    try {
      const message = framing.decodeMessage(payload);
      if (message instanceof Promise)
        message.then((read) => handleMessage(session, read)).catch(logUnreadableMessage);
      else handleMessage(session, message);
    } catch (error) {
      logUnreadableMessage(error);
    }
  }

  // The pending request times out and is reversed. The stream is still in sync.
  function logUnreadableMessage(error: unknown): void {
    log.warn({ err: error }, 'host sent a message that could not be decoded');
  }

  function handleMessage(session: HostSession, message: Message): void {
    if (isRequest(message)) {
      if (session.exceedsRequestRate())
        session.connection.reconnect('the host exceeded the request rate limit');
      else void respondToHost(session, message);
      return;
    }
    if (!pendingRequests.resolveResponse(message)) options.onUnmatchedResponse(message);
  }

  // Hosts send echo, key update and sign-off requests. Other requests get no response.
  async function respondToHost(session: HostSession, request: Message): Promise<void> {
    if (isSignOff(request)) {
      session.handleHostSignOff();
      pendingRequests.handleHostSignOff(session);
    }
    try {
      const isAccepted = !isKeyUpdate(request) || (await importHostKey(request));
      const response = networkResponse(request, isAccepted ? undefined : keyRejectedCode);
      if (response !== undefined)
        session.connection.enqueue({ bytes: await framing.encodeMessage(response) });
    } catch (error) {
      log.warn({ err: error }, 'response to a host request could not be sent');
    }
  }

  async function importHostKey(message: Message): Promise<boolean> {
    const update = parseKeyUpdate(message);
    const isAccepted = update !== undefined && (await keys?.importKey(update)) === true;
    notifyAvailability();
    return isAccepted;
  }

  function reportEncodingFailure(error: unknown): ExchangeResult {
    const reason = error instanceof MacError ? 'MAC unavailable' : 'not encodable';
    log.error({ err: error }, 'message could not be encoded');
    return { result: 'NotSent', reason };
  }

  async function sendNetworkRequest(
    session: HostSession,
    message: Message,
    timeoutMs: number,
  ): Promise<ExchangeResult> {
    let bytes: Buffer;
    try {
      bytes = await framing.encodeMessage(message);
    } catch (error) {
      return reportEncodingFailure(error);
    }
    return pendingRequests.send(session, message, bytes, { timeoutMs, isNetworkMessage: true });
  }

  function sendPayment(
    message: Message,
    bytes: Buffer,
    timeoutMs: number,
    onPossiblySent: (() => void) | undefined,
  ): Promise<ExchangeResult> {
    const session = nextSignedOnSession();
    if (session === undefined) return Promise.resolve(notSignedOn);
    return pendingRequests.send(session, message, bytes, {
      timeoutMs,
      onPossiblySent,
      isNetworkMessage: false,
    });
  }

  // Requests keys if the host has sent none yet. Some hosts do not support this request.
  async function requestKeys(session: HostSession): Promise<void> {
    if (keys?.shouldRequestKeys() !== true) return;
    const exchangeResult = await sendNetworkRequest(
      session,
      networkMessage('keyRequest', nextTraceNumber()),
      keyRequestTimeoutMs,
    );
    if (exchangeResult.result !== 'Responded') return;
    if (parseKeyUpdate(exchangeResult.response) !== undefined)
      await importHostKey(exchangeResult.response);
  }

  for (let count = 0; count < (options.connectionCount ?? 1); count += 1) {
    const session = openHostSession({
      ...connectionTarget(options),
      framing,
      reconnectDelaysMs: backOffMs,
      clock,
      log,
      nextTraceNumber,
      sendNetworkRequest,
      echoIntervalMs: options.echoIntervalMs ?? defaultEchoIntervalMs,
      onPayload: receivePayload,
      onLost: pendingRequests.handleConnectionLost,
      onSignedOnChange: notifyAvailability,
      onSignedOn: (session) => void requestKeys(session).catch(logUnreadableMessage),
    });
    sessions.push(session);
  }

  return {
    isAvailable,
    countSignedOnSessions: () => sessions.filter((session) => session.isSignedOn()).length,
    sendRequest(message, timeoutMs, onPossiblySent) {
      if (!isAvailable()) return Promise.resolve(notSignedOn);
      try {
        const bytes = framing.encodeMessage(message);
        if (!(bytes instanceof Promise))
          return sendPayment(message, bytes, timeoutMs, onPossiblySent);
        return bytes.then(
          (encodedBytes) => sendPayment(message, encodedBytes, timeoutMs, onPossiblySent),
          reportEncodingFailure,
        );
      } catch (error) {
        return Promise.resolve(reportEncodingFailure(error));
      }
    },
    async close(drainTimeoutMs) {
      // A signed-off host may still send pending responses.
      const needsDrain =
        sessions.some((session) => session.isSignedOn()) || pendingRequests.hasPendingPayments();
      isClosed = true;
      if (needsDrain) await pendingRequests.waitUntilIdle(drainTimeoutMs);
      await Promise.all(sessions.map((session) => session.signOff()));
      for (const session of sessions) session.close();
      notifyAvailability();
    },
  };
}
