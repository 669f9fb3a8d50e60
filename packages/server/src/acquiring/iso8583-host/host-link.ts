// Manages the sessions with a host, correlates responses, and answers network management requests.
import type { Host, Message } from '@switchyard/iso8583';
import { type Clock, isoTime, type Log } from '../../platform/index.ts';
import type { Hsm } from '../../vault/index.ts';
import type { TlsIdentity } from '../keys/client-certificate-store.ts';
import type { KeyRing } from '../keys/zone-key-exchange.ts';
import { stanOf } from '../numbering/stan-and-terminal-id.ts';
import { type Exchange, type Seat, takeSeat } from './host-session.ts';
import { createWire, MacFault, type Wire } from './message-framing.ts';
import {
  isKeyChange,
  isRequest,
  isSignOff,
  keyChangeIn,
  networkAnswer,
  networkMessage,
} from './network-management.ts';
import { createQuestions, notSignedOn } from './pending-requests.ts';

export type { Exchange } from './host-session.ts';

export type HostLink = {
  available(): boolean;
  /** Number of signed-on sessions. */
  signedOn(): number;
  exchange(message: Message, timeoutMs: number, onSent?: () => void): Promise<Exchange>;
  /** Rejects new messages, waits for pending responses, signs off and disconnects. */
  close(withinMs: number): Promise<void>;
};

export type LinkOptions = {
  host: string;
  port: number;
  tls: boolean;
  /** TLS client certificate for the host. */
  identity?: TlsIdentity | undefined;
  /** Compiled dialect table. */
  spoken: Host;
  tpdu?: string | undefined;
  /** Default 1. */
  connections?: number | undefined;
  hsm?: Pick<Hsm, 'mac'> | undefined;
  keys?: KeyRing | undefined;
  clock: Clock;
  log: Log;
  /** Called for each response without a pending request. */
  onUnmatched: (answer: Message) => void;
  onState?: (available: boolean) => void;
  echoEveryMs?: number;
  /** Reconnect delays; the last one repeats. */
  backOffMs?: readonly number[];
  /** Unread payment bytes after which the connection counts as lost. */
  unreadPaymentsMax?: number;
};

/** Reconnect delays; jitter reduces each to between 50 % and 100 %. */
export const reconnectAfterMs = [1000, 2000, 5000, 10_000, 30_000, 60_000] as const;
const echoDefaultMs = 60_000;
const keyTimeoutMs = 5000;
const keyRefused = '96';

const wireOf = ({ spoken, tpdu, hsm, keys }: LinkOptions): Wire =>
  createWire({ host: spoken, tpdu, hsm, macKeys: () => keys?.macKeys() ?? [] });

/** Address and TLS settings of the host. */
const placeOf = ({ host, port, tls, identity, unreadPaymentsMax }: LinkOptions) => ({
  host,
  port,
  tls,
  identity,
  unreadPaymentsMax,
});

/** Trace numbers of network management messages, shared by all sessions. */
function tracesOf(clock: Clock): () => { stan: string; transmittedAt: string } {
  let count = 0;
  return () => {
    count += 1;
    const transmittedAt = isoTime(clock.now()).slice(5, 19).replace(/\D/g, '');
    return { stan: stanOf(count), transmittedAt };
  };
}

/** @example const link = openLink({ host, port, tls: false, spoken, clock, log, onUnmatched }); */
export function openLink(options: LinkOptions): HostLink {
  const { clock, log, keys, backOffMs = reconnectAfterMs } = options;
  const wire = wireOf(options);
  const nextTrace = tracesOf(clock);
  const questions = createQuestions({ freeSeat });
  const seats: Seat[] = [];
  let next = 0;
  let closed = false;
  let wasAvailable = false;

  const isAvailable = () => !closed && wire.hasKeys() && seats.some((seat) => seat.isSignedOn());

  function tell(): void {
    const available = isAvailable();
    if (available === wasAvailable) return;
    wasAvailable = available;
    options.onState?.(available);
  }

  /** Round robin over the signed-on sessions. */
  function freeSeat(): Seat | undefined {
    if (closed) return undefined;
    for (let tried = 0; tried < seats.length; tried += 1) {
      const seat = seats[next % seats.length];
      next += 1;
      if (seat?.isSignedOn()) return seat;
    }
    return undefined;
  }

  function receive(seat: Seat, payload: Buffer): void {
    seat.heard();
    try {
      const message = wire.read(payload);
      if (message instanceof Promise) message.then((read) => take(seat, read)).catch(skip);
      else take(seat, message);
    } catch (error) {
      skip(error);
    }
  }

  // The pending request times out and is reversed. The stream is still in sync.
  function skip(error: unknown): void {
    log.warn({ err: error }, 'host sent a message that could not be decoded');
  }

  function take(seat: Seat, message: Message): void {
    if (isRequest(message)) {
      if (seat.asksTooMuch()) seat.connection.lose('the host exceeded the request rate limit');
      else void acknowledge(seat, message);
      return;
    }
    if (!questions.answered(message)) options.onUnmatched(message);
  }

  // Hosts send echo, key update and sign-off requests. Other requests get no response.
  async function acknowledge(seat: Seat, request: Message): Promise<void> {
    if (isSignOff(request)) {
      seat.dismissed();
      questions.dismissed(seat);
    }
    try {
      const taken = !isKeyChange(request) || (await takeKey(request));
      const answer = networkAnswer(request, taken ? undefined : keyRefused);
      if (answer !== undefined) seat.connection.push({ bytes: await wire.write(answer) });
    } catch (error) {
      log.warn({ err: error }, 'response to a host request could not be sent');
    }
  }

  async function takeKey(message: Message): Promise<boolean> {
    const change = keyChangeIn(message);
    const taken = change !== undefined && (await keys?.take(change)) === true;
    tell();
    return taken;
  }

  function unwritable(error: unknown): Exchange {
    const reason = error instanceof MacFault ? 'MAC unavailable' : 'not encodable';
    log.error({ err: error }, 'message could not be encoded');
    return { result: 'NotSent', reason };
  }

  async function ask(seat: Seat, message: Message, timeoutMs: number): Promise<Exchange> {
    let bytes: Buffer;
    try {
      bytes = await wire.write(message);
    } catch (error) {
      return unwritable(error);
    }
    return questions.ask(seat, message, bytes, { timeoutMs, network: true });
  }

  function sendPayment(
    message: Message,
    bytes: Buffer,
    timeoutMs: number,
    onSent: (() => void) | undefined,
  ): Promise<Exchange> {
    const seat = freeSeat();
    if (seat === undefined) return Promise.resolve(notSignedOn);
    return questions.ask(seat, message, bytes, { timeoutMs, onSent, network: false });
  }

  // Requests keys if the host has sent none yet. Some hosts do not support this request.
  async function askForKeys(seat: Seat): Promise<void> {
    if (keys?.wantsKeys() !== true) return;
    const exchange = await ask(seat, networkMessage('keyRequest', nextTrace()), keyTimeoutMs);
    if (exchange.result !== 'Answered') return;
    if (keyChangeIn(exchange.answer) !== undefined) await takeKey(exchange.answer);
  }

  for (let count = 0; count < (options.connections ?? 1); count += 1) {
    const seat = takeSeat({
      ...placeOf(options),
      wire,
      backOffMs,
      clock,
      log,
      nextTrace,
      ask,
      echoEveryMs: options.echoEveryMs ?? echoDefaultMs,
      onPayload: receive,
      onLost: questions.lost,
      onChange: tell,
      onSignedOn: (one) => void askForKeys(one).catch(skip),
    });
    seats.push(seat);
  }

  return {
    available: isAvailable,
    signedOn: () => seats.filter((seat) => seat.isSignedOn()).length,
    exchange(message, timeoutMs, onSent) {
      if (!isAvailable()) return Promise.resolve(notSignedOn);
      try {
        const bytes = wire.write(message);
        if (!(bytes instanceof Promise)) return sendPayment(message, bytes, timeoutMs, onSent);
        return bytes.then((sealed) => sendPayment(message, sealed, timeoutMs, onSent), unwritable);
      } catch (error) {
        return Promise.resolve(unwritable(error));
      }
    },
    async close(withinMs) {
      // A signed-off host may still send pending responses.
      const anybody = seats.some((seat) => seat.isSignedOn()) || questions.paymentsWait();
      closed = true;
      if (anybody) await questions.idle(withinMs);
      await Promise.all(seats.map((seat) => seat.signOff()));
      for (const seat of seats) seat.end();
      tell();
    },
  };
}
