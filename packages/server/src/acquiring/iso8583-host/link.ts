// Keeps one signed-on connection to a host: multiplexing, time-outs, echo, reconnect with back-off.
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import {
  createDeframer,
  type Dialect,
  encodeFrame,
  type FrameFormat,
  type Message,
} from '@switchyard/iso8583';
import type { Clock, Log } from '../../platform/index.ts';
import { createInFlight, isoTime } from '../../platform/index.ts';
import { stanOf } from '../numbering.ts';
import { correlationKey, isRequest, networkAnswer, networkMessage } from './messages.ts';

export type Exchange =
  | { result: 'Answered'; answer: Message }
  | { result: 'NotSent'; reason: string }
  | { result: 'Timeout' }
  | { result: 'ConnectionLost' };

export type HostLink = {
  available(): boolean;
  exchange(message: Message, timeoutMs: number, onSent?: () => void): Promise<Exchange>;
  /** Takes no more, waits up to `withinMs` for what is in flight, signs off and hangs up. */
  close(withinMs: number): Promise<void>;
};

type Options = {
  host: string;
  port: number;
  tls: boolean;
  dialect: Dialect;
  clock: Clock;
  log: Log;
  /** Called for each answer that nobody waits for any more. */
  onUnmatched: (answer: Message) => void;
  onState?: (available: boolean) => void;
  echoEveryMs?: number;
  /** Waits before the next try to connect; the last one goes on for ever. */
  backOffMs?: readonly number[];
};

type Waiting = { settle: (exchange: Exchange) => void; timer: NodeJS.Timeout };

const frameFormat: FrameFormat = { length: 'binary2' };
const frameBytesMax = 8192;
const backOffDefaultMs = [1000, 2000, 5000, 10_000, 30_000, 60_000] as const;
const signOnTimeoutMs = 5000;
const signOffTimeoutMs = 500;
const echoDefaultMs = 60_000;
const missedEchoesMax = 2;
const waitingMax = 20_000;
/** What a host may leave unread of our answers to its own requests, before it counts as lost. */
const unreadBytesMax = 1_048_576;
const connectTimeoutMs = 5000;

/** @example const link = openLink({ host, port, tls: false, dialect, clock, log, onUnmatched }); */
export function openLink(options: Options): HostLink {
  const { dialect, clock, log, backOffMs = backOffDefaultMs } = options;
  const waiting = createInFlight<Waiting>();
  let socket: Socket | undefined;
  let signedOn = false;
  let closed = false;
  let failures = 0;
  let networkTrace = 0;
  let missedEchoes = 0;
  let reconnectTimer: NodeJS.Timeout | undefined;
  let echoTimer: NodeJS.Timeout | undefined;
  let busySinceEcho = false;
  let whenIdle: (() => void) | undefined;

  function setSignedOn(value: boolean): void {
    if (signedOn === value) return;
    signedOn = value;
    options.onState?.(value);
  }

  function trace(): { stan: string; transmittedAt: string } {
    networkTrace += 1;
    const transmittedAt = isoTime(clock.now()).slice(5, 19).replace(/\D/g, '');
    return { stan: stanOf(networkTrace), transmittedAt };
  }

  function settle(key: string, entry: Waiting, exchange: Exchange): void {
    waiting.delete(key);
    clearTimeout(entry.timer);
    entry.settle(exchange);
    if (waiting.size() === 0) whenIdle?.();
  }

  function receive(bytes: Buffer): void {
    busySinceEcho = true;
    let answer: Message;
    try {
      answer = dialect.decode(bytes);
    } catch (error) {
      // The waiting request times out and is reversed; the stream itself is still framed.
      log.warn({ err: error }, 'the host sent a message that cannot be read');
      return;
    }
    if (isRequest(answer)) {
      acknowledge(answer);
      return;
    }
    const key = correlationKey(answer);
    const entry = waiting.get(key);
    if (entry === undefined) {
      options.onUnmatched(answer);
      return;
    }
    settle(key, entry, { result: 'Answered', answer });
  }

  // Hosts ask too whether anybody is there; nothing else of theirs is a request that we serve.
  function acknowledge(request: Message): void {
    const answer = networkAnswer(request);
    if (answer === undefined || socket === undefined) return;
    // A host that asks without end and never reads would have us keep every answer in memory.
    if (socket.writableLength > unreadBytesMax) {
      lose(socket, 'the host does not read our answers');
      return;
    }
    gather(socket);
    socket.write(encodeFrame(frameFormat, dialect.encode(answer)));
  }

  function lose(from: Socket, why: string): void {
    if (socket !== from) return;
    socket = undefined;
    setSignedOn(false);
    clearInterval(echoTimer);
    from.destroy();
    for (const [key, entry] of waiting.entries()) settle(key, entry, { result: 'ConnectionLost' });
    if (closed) return;
    const base = backOffMs[Math.min(failures, backOffMs.length - 1)] ?? 60_000;
    failures += 1;
    log.warn({ why, retryInMs: base }, 'the link to the host is down');
    // A tenth of jitter from the clock keeps many processes from knocking at once.
    reconnectTimer = setTimeout(open, base + (clock.now() % 100) * (base / 1000));
  }

  // What one turn of the event loop sends leaves in one system call.
  function gather(to: Socket): void {
    if (to.writableCorked > 0) return;
    to.cork();
    process.nextTick(() => to.uncork());
  }

  function transmit(
    to: Socket,
    message: Message,
    timeoutMs: number,
    onSent?: () => void,
  ): Promise<Exchange> {
    const key = correlationKey(message);
    if (waiting.get(key) !== undefined)
      return Promise.resolve({ result: 'NotSent', reason: 'duplicate trace' });
    if (waiting.size() >= waitingMax) return Promise.resolve({ result: 'NotSent', reason: 'busy' });
    let bytes: Buffer;
    try {
      bytes = encodeFrame(frameFormat, dialect.encode(message));
    } catch (error) {
      log.error({ err: error }, 'a message could not be encoded');
      return Promise.resolve({ result: 'NotSent', reason: 'not encodable' });
    }
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle(key, entry, { result: 'Timeout' }), timeoutMs);
      const entry: Waiting = { settle: resolve, timer };
      waiting.set(key, entry);
      gather(to);
      to.write(bytes, onSent && (() => onSent()));
    });
  }

  async function signOn(to: Socket): Promise<void> {
    const exchange = await transmit(to, networkMessage('signOn', trace()), signOnTimeoutMs);
    // Lost while the answer was on its way to us: another socket has begun, or nothing shall.
    if (socket !== to) return;
    if (exchange.result === 'Answered' && exchange.answer.fields[39] === '00') {
      failures = 0;
      missedEchoes = 0;
      setSignedOn(true);
      const everyMs = options.echoEveryMs ?? echoDefaultMs;
      echoTimer = setInterval(() => void echo(to, everyMs), everyMs);
      log.info({ host: options.host, port: options.port }, 'signed on at the host');
      return;
    }
    lose(to, 'sign-on was not answered');
  }

  async function echo(to: Socket, everyMs: number): Promise<void> {
    if (busySinceEcho) {
      busySinceEcho = false;
      return;
    }
    const exchange = await transmit(to, networkMessage('echo', trace()), Math.min(everyMs, 5000));
    busySinceEcho = false;
    missedEchoes = exchange.result === 'Answered' ? 0 : missedEchoes + 1;
    if (missedEchoes >= missedEchoesMax) lose(to, 'the host does not answer echoes');
  }

  function open(): void {
    const { host, port } = options;
    const next = options.tls
      ? connectTls({ host, port, servername: host, minVersion: 'TLSv1.2' })
      : connectTcp({ host, port });
    socket = next;
    next.setNoDelay(true);
    next.setTimeout(connectTimeoutMs, () => lose(next, 'connecting took too long'));
    next.once(options.tls ? 'secureConnect' : 'connect', () => {
      next.setTimeout(0);
      void signOn(next);
    });
    const deframer = createDeframer(frameFormat, { maxBytes: frameBytesMax });
    next.on('data', (chunk: Buffer) => {
      try {
        for (const { payload } of deframer.push(chunk)) if (payload.length > 0) receive(payload);
      } catch (error) {
        lose(next, error instanceof Error ? error.message : 'the stream cannot be framed');
      }
    });
    next.on('error', (error) => lose(next, error.message));
    next.on('close', () => lose(next, 'the host closed the connection'));
  }

  function idle(withinMs: number): Promise<void> {
    if (waiting.size() === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      whenIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  open();

  return {
    available: () => signedOn && !closed,
    exchange(message, timeoutMs, onSent) {
      const to = socket;
      if (to === undefined || !signedOn || closed || to.writable === false) {
        return Promise.resolve({ result: 'NotSent', reason: 'not signed on' });
      }
      return transmit(to, message, timeoutMs, onSent);
    },
    async close(withinMs) {
      closed = true;
      clearTimeout(reconnectTimer);
      clearInterval(echoTimer);
      if (signedOn) await idle(withinMs);
      const last = socket;
      if (last === undefined) return;
      if (signedOn) await transmit(last, networkMessage('signOff', trace()), signOffTimeoutMs);
      lose(last, 'closing');
    },
  };
}
