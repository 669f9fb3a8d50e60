// One signed-on place at a host: a connection with its sign-on, its echoes and its sign-off.
import type { Message } from '@switchyard/iso8583';
import type { Clock, Log } from '../../platform/index.ts';
import { type Connection, type ConnectionOptions, openConnection } from './connection.ts';
import { type NetworkRequest, networkMessage } from './network.ts';

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
  let busySinceEcho = false;
  let echoTimer: NodeJS.Timeout | undefined;
  /** Counted up with each connection: what was begun on an earlier one has no say any more. */
  let sitting = 0;

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
    if (exchange.result !== 'Answered' || exchange.answer.fields[39] !== approved) {
      seat.connection.lose('sign-on was not answered');
      return;
    }
    seat.connection.settled();
    missedEchoes = 0;
    set(true);
    echoTimer = setInterval(() => void echo(), deps.echoEveryMs);
    deps.log.info({ host: deps.host, port: deps.port }, 'signed on at the host');
    deps.onSignedOn(seat);
  }

  async function echo(): Promise<void> {
    if (busySinceEcho) {
      busySinceEcho = false;
      return;
    }
    const mine = sitting;
    const exchange = await ask('echo', Math.min(deps.echoEveryMs, echoTimeoutMs));
    if (mine !== sitting) return;
    busySinceEcho = false;
    missedEchoes = exchange.result === 'Answered' ? 0 : missedEchoes + 1;
    if (missedEchoes >= missedEchoesMax) {
      seat.connection.lose('the host does not answer echoes');
    }
  }

  function stand(): void {
    sitting += 1;
    clearInterval(echoTimer);
    set(false);
  }

  const seat: Seat = {
    connection: openConnection({
      ...deps,
      onOpen: () => void signOn(),
      onPayload: (payload) => deps.onPayload(seat, payload),
      onLost() {
        stand();
        deps.onLost(seat);
      },
    }),
    isSignedOn: () => signedOn && seat.connection.isOpen(),
    heard() {
      busySinceEcho = true;
    },
    asksTooMuch() {
      const now = Math.floor(deps.clock.now() / 1000);
      requests = now === second ? requests + 1 : 1;
      second = now;
      return requests > requestsPerSecondMax;
    },
    async signOff() {
      clearInterval(echoTimer);
      if (signedOn) await ask('signOff', signOffTimeoutMs);
    },
    end() {
      clearInterval(echoTimer);
      seat.connection.end();
    },
  };
  return seat;
}
