// One session with a host: a connection with sign-on, echo and sign-off.
import type { Message } from '@switchyard/iso8583';
import { type Clock, type Log, withJitter } from '../../platform/index.ts';
import type { ExchangeResult } from '../spi/acquirer-spi.ts';
import {
  type HostConnection,
  type HostConnectionOptions,
  type HostTarget,
  openHostConnection,
  reconnectDelayAfter,
} from './host-connection.ts';
import { type NetworkRequest, networkMessage } from './network-management-messages.ts';

export type HostSession = {
  connection: HostConnection;
  isSignedOn(): boolean;
  /** Why the session is not signed on, if the host or the connection gave a reason. */
  findFault(): string | undefined;
  /** Records received data, which proves that the host is alive. */
  recordReceived(): void;
  /** Counts a sent frame and returns its sequence number. */
  recordSent(isPayment: boolean): number;
  /** A response proves that the host has read this frame and all earlier frames. */
  recordResponse(sequence: number): void;
  /** The host accepts no messages until the next sign-on. */
  handleHostSignOff(): void;
  /** Counts a host request; returns true above the rate limit. */
  exceedsRequestRate(): boolean;
  signOff(): Promise<void>;
  close(): void;
};

type HostSessionOptions = HostTarget & {
  framing: HostConnectionOptions['framing'];
  clock: Clock;
  log: Log;
  /** Whether the session signs on before it counts as signed on. */
  requiresSignOn: boolean;
  /** Without it, the session sends no echo tests. */
  echoIntervalMs: number | undefined;
  nextTraceNumber(): { stan: string; transmittedAt: string };
  /** Sends a network management message over this session, signed on or not. */
  sendNetworkRequest(
    session: HostSession,
    message: Message,
    timeoutMs: number,
  ): Promise<ExchangeResult<Message>>;
  onPayload(session: HostSession, payload: Buffer, header: Buffer): void;
  onLost(session: HostSession): void;
  onSignedOnChange(): void;
  onSignedOn(session: HostSession): void;
};

const signOnTimeoutMs = 5000;
const signOffTimeoutMs = 500;
const echoTimeoutMs = 5000;
const maxMissedEchoes = 2;
const approvedCode = '00';
/** Hosts send about one echo per minute. The limit protects other links from a flood. */
const maxHostRequestsPerSecond = 200;

export function openHostSession(options: HostSessionOptions): HostSession {
  let signedOn = false;
  let lastFault: string | undefined;
  let missedEchoes = 0;
  let isEchoing = false;
  let receivedCount = 0;
  let receivedCountAtLastEcho = 0;
  /** The echo interval of a signed-on session, or the delay before the next sign-on. */
  let timer: NodeJS.Timeout | undefined;
  /** Incremented at each connection and sign-off: older pending sign-ons and echoes are ignored. */
  let sessionGeneration = 0;
  /** Consecutive sign-off or sign-on failures on this connection. */
  let signOnFailures = 0;
  let sentCount = 0;
  let lastPaymentSequence = 0;
  let lastConfirmedSequence = 0;
  let rateWindowSecond = 0;
  let requestsInWindow = 0;

  function setSignedOn(value: boolean): void {
    if (signedOn === value) return;
    signedOn = value;
    options.onSignedOnChange();
  }

  const sendNetworkMessage = (kind: NetworkRequest, timeoutMs: number) =>
    options.sendNetworkRequest(session, networkMessage(kind, options.nextTraceNumber()), timeoutMs);

  async function signOn(): Promise<void> {
    const generation = sessionGeneration;
    const exchangeResult = await sendNetworkMessage('signOn', signOnTimeoutMs);
    // The connection was lost or replaced before the response arrived.
    if (generation !== sessionGeneration) return;
    const { result } = exchangeResult;
    if (result !== 'Responded')
      return session.connection.reconnect(
        result === 'NotSent'
          ? `the sign-on was not sent: ${exchangeResult.reason}`
          : 'the host did not answer the sign-on, or the platform could not read its answer',
      );
    const responseCode = exchangeResult.response.fields[39];
    if (responseCode !== approvedCode) {
      const fault = `the host answered the sign-on with response code ${responseCode ?? '(none)'}`;
      // After a host sign-off, pending responses may still arrive on this connection.
      if (signOnFailures > 0) scheduleSignOn(fault);
      else session.connection.reconnect(fault);
      return;
    }
    options.log.info({ host: options.host, port: options.port }, 'signed on to the host');
    start();
  }

  /** Makes the session available for payments, and starts the echo tests. */
  function start(): void {
    lastFault = undefined;
    session.connection.resetBackoff();
    signOnFailures = 0;
    missedEchoes = 0;
    setSignedOn(true);
    const { echoIntervalMs } = options;
    if (echoIntervalMs !== undefined)
      timer = setInterval(() => void sendEcho(echoIntervalMs), echoIntervalMs);
    options.onSignedOn(session);
  }

  async function begin(): Promise<void> {
    if (options.requiresSignOn) await signOn();
    else start();
  }

  async function sendEcho(intervalMs: number): Promise<void> {
    // Only one echo is pending at a time, because its time-out may exceed the interval.
    if (isEchoing) return;
    const receivedCountBefore = receivedCountAtLastEcho;
    receivedCountAtLastEcho = receivedCount;
    if (receivedCount !== receivedCountBefore) return;
    const generation = sessionGeneration;
    isEchoing = true;
    await sendNetworkMessage('echo', Math.min(intervalMs, echoTimeoutMs));
    isEchoing = false;
    if (generation !== sessionGeneration) return;
    // Any received message proves that the host is alive.
    if (receivedCount !== receivedCountBefore) {
      receivedCountAtLastEcho = receivedCount;
      return;
    }
    missedEchoes += 1;
    if (missedEchoes >= maxMissedEchoes) {
      session.connection.reconnect('the host did not respond to echoes');
    }
  }

  function suspend(): void {
    sessionGeneration += 1;
    clearTimeout(timer);
    setSignedOn(false);
  }

  /** Uses the same connection, because pending responses may still arrive on it. */
  function scheduleSignOn(fault: string): void {
    suspend();
    lastFault = fault;
    const baseDelayMs = reconnectDelayAfter(options.reconnectDelaysMs, signOnFailures);
    signOnFailures += 1;
    options.log.warn(
      { reason: fault, retryInMs: baseDelayMs },
      'the platform is not signed on to the host; it retries the sign-on',
    );
    timer = setTimeout(() => void begin(), withJitter(baseDelayMs));
  }

  const session: HostSession = {
    connection: openHostConnection({
      ...options,
      hasUnconfirmedPayment: () => lastPaymentSequence > lastConfirmedSequence,
      onOpen: () => void begin(),
      onPayload: (payload, header) => options.onPayload(session, payload, header),
      onLost(reason) {
        suspend();
        lastFault = reason;
        signOnFailures = 0;
        sentCount = 0;
        lastPaymentSequence = 0;
        lastConfirmedSequence = 0;
        options.onLost(session);
      },
    }),
    isSignedOn: () => signedOn && session.connection.isOpen(),
    findFault: () => lastFault,
    recordReceived() {
      receivedCount += 1;
      missedEchoes = 0;
    },
    recordSent(isPayment) {
      sentCount += 1;
      if (isPayment) lastPaymentSequence = sentCount;
      return sentCount;
    },
    recordResponse(sequence) {
      lastConfirmedSequence = Math.max(lastConfirmedSequence, sequence);
    },
    handleHostSignOff() {
      if (session.connection.isOpen()) scheduleSignOn('the host signed off');
    },
    exceedsRequestRate() {
      const currentSecond = Math.floor(options.clock.now() / 1000);
      requestsInWindow = currentSecond === rateWindowSecond ? requestsInWindow + 1 : 1;
      rateWindowSecond = currentSecond;
      return requestsInWindow > maxHostRequestsPerSecond;
    },
    async signOff() {
      clearTimeout(timer);
      if (signedOn && options.requiresSignOn) await sendNetworkMessage('signOff', signOffTimeoutMs);
    },
    close() {
      clearTimeout(timer);
      session.connection.close();
    },
  };
  return session;
}
