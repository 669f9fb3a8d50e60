// One signed-on place at a host: a connection with its sign-on, its echoes and its sign-off.
import type { Message } from '@switchyard/iso8583';
import { type Clock, jittered, type Log } from '../../platform/index.ts';
import {
  type Connection,
  type ConnectionOptions,
  openConnection,
  pauseAfter,
} from './host-connection.ts';
import { type NetworkRequest, networkMessage } from './network-management.ts';

/** What became of a message that was sent over a connection. */
export type Exchange =
  | { result: 'Answered'; answer: Message }
  | { result: 'NotSent'; reason: string }
  | { result: 'Timeout' }
  | { result: 'ConnectionLost' };

export type Seat = {
  connection: Connection;
  isSignedOn(): boolean;
  /** Something came from the host: it lives. */
  heard(): void;
  /** Counts what leaves over this connection, and tells its place. */
  leaving(isPayment: boolean): number;
  /** What left at this place was answered: the host has read it, and all before it. */
  answered(place: number): void;
  /** The host takes nothing more until it has taken us in again. */
  dismissed(): void;
  /** Counts a request of the host: true where it asks more than a host has reason to. */
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
  /** Sends a message over this seat, signed on or not, and waits for its answer. */
  ask(seat: Seat, message: Message, timeoutMs: number): Promise<Exchange>;
  onPayload(seat: Seat, payload: Buffer): void;
  onLost(seat: Seat): void;
  onChange(seat: Seat): void;
  /** Called once each time that the seat has signed on. */
  onSignedOn(seat: Seat): void;
};

const signOnTimeoutMs = 5000;
const signOffTimeoutMs = 500;
const echoTimeoutMs = 5000;
const missedEchoesMax = 2;
const approved = '00';
/** A host asks whether we are there once a minute; one that floods us must not cost other links. */
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
  /** Counted up with each connection and dismissal: what was begun before has no say any more. */
  let sitting = 0;
  /** How often in a row the host has turned us away over this connection. */
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
    // Lost while the answer was on its way to us: another socket has begun, or nothing shall.
    if (mine !== sitting) return;
    const answered = exchange.result === 'Answered';
    if (!answered || exchange.answer.fields[39] !== approved) {
      // A host that has dismissed us and says no has answers left to give over this connection.
      if (answered && dismissals > 0) signOnLater();
      else seat.connection.lose('sign-on was not answered');
      return;
    }
    seat.connection.settled();
    dismissals = 0;
    missedEchoes = 0;
    set(true);
    echoTimer = setInterval(() => void echo(), deps.echoEveryMs);
    deps.log.info({ host: deps.host, port: deps.port }, 'signed on at the host');
    deps.onSignedOn(seat);
  }

  async function echo(): Promise<void> {
    // One at a time: that it was missed may be known behind the next turn alone.
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
    // Whatever came meanwhile, it came from a host that lives.
    if (heardTimes !== before) {
      heardBefore = heardTimes;
      return;
    }
    missedEchoes += 1;
    if (missedEchoes >= missedEchoesMax) {
      seat.connection.lose('the host does not answer echoes');
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

  /** Over the same connection: what is in flight may still be answered there. */
  function signOnLater(): void {
    rest();
    const base = pauseAfter(deps.backOffMs, dismissals);
    dismissals += 1;
    deps.log.warn({ retryInMs: base }, 'the host takes nothing from us for now');
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
