// One session with a host: a connection with sign-on, echo and sign-off.
import type { Message } from '@switchyard/iso8583';
import { type Clock, jittered, type Log } from '../../platform/index.ts';
import {
  type HostConnection,
  type HostConnectionOptions,
  openHostConnection,
  reconnectDelayAfter,
} from './host-connection.ts';
import { type NetworkRequest, networkMessage } from './network-management.ts';

/** Result of sending one message. */
export type ExchangeResult =
  | { result: 'Responded'; response: Message }
  | { result: 'NotSent'; reason: string }
  | { result: 'Timeout' }
  | { result: 'ConnectionLost' };

export type HostSession = {
  connection: HostConnection;
  isSignedOn(): boolean;
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

export type HostSessionDeps = Pick<
  HostConnectionOptions,
  | 'host'
  | 'port'
  | 'tls'
  | 'tlsIdentity'
  | 'framing'
  | 'reconnectDelaysMs'
  | 'maxUnreadPaymentBytes'
> & {
  clock: Clock;
  log: Log;
  echoIntervalMs: number;
  nextTraceNumber(): { stan: string; transmittedAt: string };
  /** Sends a network management message over this session, signed on or not. */
  sendNetworkRequest(
    seat: HostSession,
    message: Message,
    timeoutMs: number,
  ): Promise<ExchangeResult>;
  onPayload(seat: HostSession, payload: Buffer): void;
  onLost(seat: HostSession): void;
  onSignedOnChange(seat: HostSession): void;
  /** Called after each sign-on. */
  onSignedOn(seat: HostSession): void;
};

const signOnTimeoutMs = 5000;
const signOffTimeoutMs = 500;
const echoTimeoutMs = 5000;
const maxMissedEchoes = 2;
const approvedCode = '00';
/** Hosts send about one echo per minute. The limit protects other links from a flood. */
const maxHostRequestsPerSecond = 200;

/** @example const seat = takeSeat({ host, port, tls, wire, clock, log, …, ask, onPayload }); */
export function openHostSession(deps: HostSessionDeps): HostSession {
  let signedOn = false;
  let missedEchoes = 0;
  let isEchoing = false;
  let receivedCount = 0;
  let receivedCountAtLastEcho = 0;
  let echoTimer: NodeJS.Timeout | undefined;
  let signOnRetryTimer: NodeJS.Timeout | undefined;
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
    deps.onSignedOnChange(session);
  }

  const sendNetworkMessage = (kind: NetworkRequest, timeoutMs: number) =>
    deps.sendNetworkRequest(session, networkMessage(kind, deps.nextTraceNumber()), timeoutMs);

  async function signOn(): Promise<void> {
    const generation = sessionGeneration;
    const exchangeResult = await sendNetworkMessage('signOn', signOnTimeoutMs);
    // The connection was lost or replaced before the response arrived.
    if (generation !== sessionGeneration) return;
    const hasResponse = exchangeResult.result === 'Responded';
    if (!hasResponse || exchangeResult.response.fields[39] !== approvedCode) {
      // After a host sign-off, pending responses may still arrive on this connection.
      if (hasResponse && signOnFailures > 0) scheduleSignOn();
      else session.connection.reconnect('the host did not approve the sign-on');
      return;
    }
    session.connection.resetBackoff();
    signOnFailures = 0;
    missedEchoes = 0;
    setSignedOn(true);
    echoTimer = setInterval(() => void sendEcho(), deps.echoIntervalMs);
    deps.log.info({ host: deps.host, port: deps.port }, 'signed on to the host');
    deps.onSignedOn(session);
  }

  async function sendEcho(): Promise<void> {
    // Only one echo is pending at a time, because its time-out may exceed the interval.
    if (isEchoing) return;
    const receivedCountBefore = receivedCount;
    const isBusy = receivedCountBefore !== receivedCountAtLastEcho;
    receivedCountAtLastEcho = receivedCountBefore;
    if (isBusy) return;
    const generation = sessionGeneration;
    isEchoing = true;
    await sendNetworkMessage('echo', Math.min(deps.echoIntervalMs, echoTimeoutMs));
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
    clearInterval(echoTimer);
    clearTimeout(signOnRetryTimer);
    setSignedOn(false);
  }

  function reset(): void {
    suspend();
    signOnFailures = 0;
    sentCount = 0;
    lastPaymentSequence = 0;
    lastConfirmedSequence = 0;
  }

  /** Uses the same connection, because pending responses may still arrive on it. */
  function scheduleSignOn(): void {
    suspend();
    const baseDelayMs = reconnectDelayAfter(deps.reconnectDelaysMs, signOnFailures);
    signOnFailures += 1;
    deps.log.warn({ retryInMs: baseDelayMs }, 'host signed off or declined the sign-on; retrying');
    signOnRetryTimer = setTimeout(() => void signOn(), jittered(baseDelayMs));
  }

  const session: HostSession = {
    connection: openHostConnection({
      ...deps,
      hasUnconfirmedPayment: () => lastPaymentSequence > lastConfirmedSequence,
      onOpen: () => void signOn(),
      onPayload: (payload) => deps.onPayload(session, payload),
      onLost() {
        reset();
        deps.onLost(session);
      },
    }),
    isSignedOn: () => signedOn && session.connection.isOpen(),
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
      if (session.connection.isOpen()) scheduleSignOn();
    },
    exceedsRequestRate() {
      const currentSecond = Math.floor(deps.clock.now() / 1000);
      requestsInWindow = currentSecond === rateWindowSecond ? requestsInWindow + 1 : 1;
      rateWindowSecond = currentSecond;
      return requestsInWindow > maxHostRequestsPerSecond;
    },
    async signOff() {
      clearInterval(echoTimer);
      clearTimeout(signOnRetryTimer);
      if (signedOn) await sendNetworkMessage('signOff', signOffTimeoutMs);
    },
    close() {
      clearInterval(echoTimer);
      clearTimeout(signOnRetryTimer);
      session.connection.close();
    },
  };
  return session;
}
