// One session with a host: a connection with sign-on, echo and sign-off.
import type { Message } from '@switchyard/iso8583';
import { type Clock, jittered, type Log } from '../../platform/index.ts';
import {
  type Connection,
  type ConnectionOptions,
  openConnection,
  pauseAfter,
} from './host-connection.ts';
import { type NetworkRequest, networkMessage } from './network-management.ts';

/** Result of sending one message. */
export type Exchange =
  | { result: 'Answered'; answer: Message }
  | { result: 'NotSent'; reason: string }
  | { result: 'Timeout' }
  | { result: 'ConnectionLost' };

export type Seat = {
  connection: Connection;
  isSignedOn(): boolean;
  /** Records received data, which proves that the host is alive. */
  heard(): void;
  /** Counts a sent frame and returns its sequence number. */
  leaving(isPayment: boolean): number;
  /** A response proves that the host has read this frame and all earlier frames. */
  answered(place: number): void;
  /** The host accepts no messages until the next sign-on. */
  dismissed(): void;
  /** Counts a host request; returns true above the rate limit. */
  asksTooMuch(): boolean;
  signOff(): Promise<void>;
  end(): void;
};

export type SeatDeps = Pick<
  ConnectionOptions,
  'host' | 'port' | 'tls' | 'identity' | 'wire' | 'backOffMs' | 'unreadPaymentsMax'
> & {
  clock: Clock;
  log: Log;
  echoEveryMs: number;
  nextTrace(): { stan: string; transmittedAt: string };
  /** Sends a network management message over this session, signed on or not. */
  ask(seat: Seat, message: Message, timeoutMs: number): Promise<Exchange>;
  onPayload(seat: Seat, payload: Buffer): void;
  onLost(seat: Seat): void;
  onChange(seat: Seat): void;
  /** Called after each sign-on. */
  onSignedOn(seat: Seat): void;
};

const signOnTimeoutMs = 5000;
const signOffTimeoutMs = 500;
const echoTimeoutMs = 5000;
const missedEchoesMax = 2;
const approved = '00';
/** Hosts send about one echo per minute. The limit protects other links from a flood. */
const requestsPerSecondMax = 200;

/** @example const seat = takeSeat({ host, port, tls, wire, clock, log, …, ask, onPayload }); */
export function takeSeat(deps: SeatDeps): Seat {
  let signedOn = false;
  let missedEchoes = 0;
  let isEchoing = false;
  let heardTimes = 0;
  let heardBefore = 0;
  let echoTimer: NodeJS.Timeout | undefined;
  let againTimer: NodeJS.Timeout | undefined;
  /** Incremented at each connection and sign-off: older pending sign-ons and echoes are ignored. */
  let sitting = 0;
  /** Consecutive sign-off or sign-on failures on this connection. */
  let dismissals = 0;
  let places = 0;
  let lastPayment = 0;
  let lastRead = 0;

  let second = 0;
  let requests = 0;

  function set(value: boolean): void {
    if (signedOn === value) return;
    signedOn = value;
    deps.onChange(seat);
  }

  const ask = (kind: NetworkRequest, timeoutMs: number) =>
    deps.ask(seat, networkMessage(kind, deps.nextTrace()), timeoutMs);

  async function signOn(): Promise<void> {
    const mine = sitting;
    const exchange = await ask('signOn', signOnTimeoutMs);
    // The connection was lost or replaced before the response arrived.
    if (mine !== sitting) return;
    const answered = exchange.result === 'Answered';
    if (!answered || exchange.answer.fields[39] !== approved) {
      // After a host sign-off, pending responses may still arrive on this connection.
      if (answered && dismissals > 0) signOnLater();
      else seat.connection.lose('the host did not approve the sign-on');
      return;
    }
    seat.connection.settled();
    dismissals = 0;
    missedEchoes = 0;
    set(true);
    echoTimer = setInterval(() => void echo(), deps.echoEveryMs);
    deps.log.info({ host: deps.host, port: deps.port }, 'signed on to the host');
    deps.onSignedOn(seat);
  }

  async function echo(): Promise<void> {
    // Only one echo is pending at a time, because its time-out may exceed the interval.
    if (isEchoing) return;
    const before = heardTimes;
    const isBusy = before !== heardBefore;
    heardBefore = before;
    if (isBusy) return;
    const mine = sitting;
    isEchoing = true;
    await ask('echo', Math.min(deps.echoEveryMs, echoTimeoutMs));
    isEchoing = false;
    if (mine !== sitting) return;
    // Any received message proves that the host is alive.
    if (heardTimes !== before) {
      heardBefore = heardTimes;
      return;
    }
    missedEchoes += 1;
    if (missedEchoes >= missedEchoesMax) {
      seat.connection.lose('the host did not respond to echoes');
    }
  }

  function rest(): void {
    sitting += 1;
    clearInterval(echoTimer);
    clearTimeout(againTimer);
    set(false);
  }

  function stand(): void {
    rest();
    dismissals = 0;
    places = 0;
    lastPayment = 0;
    lastRead = 0;
  }

  /** Uses the same connection, because pending responses may still arrive on it. */
  function signOnLater(): void {
    rest();
    const base = pauseAfter(deps.backOffMs, dismissals);
    dismissals += 1;
    deps.log.warn({ retryInMs: base }, 'host signed off or declined the sign-on; retrying');
    againTimer = setTimeout(() => void signOn(), jittered(base));
  }

  const seat: Seat = {
    connection: openConnection({
      ...deps,
      mayLieUnread: () => lastPayment > lastRead,
      onOpen: () => void signOn(),
      onPayload: (payload) => deps.onPayload(seat, payload),
      onLost() {
        stand();
        deps.onLost(seat);
      },
    }),
    isSignedOn: () => signedOn && seat.connection.isOpen(),
    heard() {
      heardTimes += 1;
      missedEchoes = 0;
    },
    leaving(isPayment) {
      places += 1;
      if (isPayment) lastPayment = places;
      return places;
    },
    answered(place) {
      lastRead = Math.max(lastRead, place);
    },
    dismissed() {
      if (seat.connection.isOpen()) signOnLater();
    },
    asksTooMuch() {
      const now = Math.floor(deps.clock.now() / 1000);
      requests = now === second ? requests + 1 : 1;
      second = now;
      return requests > requestsPerSecondMax;
    },
    async signOff() {
      clearInterval(echoTimer);
      clearTimeout(againTimer);
      if (signedOn) await ask('signOff', signOffTimeoutMs);
    },
    end() {
      clearInterval(echoTimer);
      clearTimeout(againTimer);
      seat.connection.end();
    },
  };
  return seat;
}
