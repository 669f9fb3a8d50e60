// One end of a session over NATS; it keeps the order, controls the flow, and ends after a loss.
import { connectorLimits } from '@switchyard/contract';
import type { Clock } from '../../platform/index.ts';
import { BackplaneFault } from './backplane.ts';
import type { Link } from './nats-connection.ts';
import {
  type Frame,
  type FrameKind,
  partsOf,
  readCount,
  readFrame,
  writeCount,
  writeFrame,
} from './session-frames.ts';

export type PipeEvents = {
  /** Called once, as the first event, when the other end has connected. */
  opened?(): void;
  /** The receiver calls `taken` when it has passed the message on and can accept more. */
  message(data: Buffer, isBinary: boolean, taken: () => void): void;
  /** The other end has closed normally. */
  closed(code: number, word: string): void;
  /** The other end is not reachable any more, or a frame was lost. */
  lost(): void;
};

export type Pipe = {
  open(): void;
  send(data: Buffer, isBinary: boolean, sent?: () => void): void;
  /** Bytes that the other end has not acknowledged yet. */
  buffered(): number;
  /** Stops the acknowledgements, so that the other end stops sending. */
  pause(): void;
  resume(): void;
  close(code: number, word: string): void;
  /** Checks if the other end is still there. */
  tick(now: number): void;
  cut(): void;
};

type Deps = {
  readonly link: Link;
  readonly clock: Clock;
  /** The NATS subjects of this end and of the other end. */
  readonly here: string;
  readonly there: string;
  readonly ended: (pipe: Pipe) => void;
};

/** A sent message, with the callback for its acknowledgement. */
type Sent = { readonly until: number; readonly done: (() => void) | undefined };

/**
 * Each message counts this many extra bytes, so that empty messages need an acknowledgement too.
 */
const messageCost = 64;

const beatMs = 2000;
const beat = (subject: string) => `${subject}.beat`;

/** @example const pipe = createPipe({ link, clock, here, there, ended }, events); */
export function createPipe(deps: Deps, events: PipeEvents): Pipe {
  const { link, clock, here, there } = deps;
  let isEnded = false;
  let nextOut = 0;
  let nextIn = 0;
  let sentBytes = 0;
  let takenThere = 0;
  let takenHere = 0;
  let toldTaken = 0;
  let isPaused = false;
  let parts: Buffer[] = [];
  let partBytes = 0;
  let beatAt = clock.now() + beatMs;
  const waiting: Sent[] = [];

  function write(kind: FrameKind, body: Buffer, hasMore = false): void {
    link.send(there, writeFrame({ kind, sequence: nextOut, hasMore, body }));
    nextOut = (nextOut + 1) >>> 0;
  }

  function end(): void {
    if (isEnded) return;
    isEnded = true;
    for (const stop of stops) stop();
    for (const { done } of waiting.splice(0)) done?.();
    deps.ended(pipe);
  }

  function lose(): void {
    if (isEnded) return;
    end();
    events.lost();
  }

  function tellTaken(): void {
    if (isPaused || isEnded || toldTaken === takenHere) return;
    toldTaken = takenHere;
    write('taken', writeCount(takenHere));
  }

  function hearPart({ kind, hasMore, body }: Frame): void {
    partBytes += body.length;
    if (partBytes > connectorLimits.messageMaxBytes) {
      lose();
      return;
    }
    parts.push(body);
    if (hasMore) return;
    const data = Buffer.concat(parts);
    parts = [];
    partBytes = 0;
    events.message(data, kind === 'binary', () => {
      takenHere += data.length + messageCost;
      tellTaken();
    });
  }

  function hearTaken(count: number): void {
    takenThere = Math.max(takenThere, count);
    while (waiting[0] !== undefined && waiting[0].until <= takenThere) waiting.shift()?.done?.();
  }

  function hearClose(body: Buffer): void {
    const code = body.length < 2 ? 1000 : body.readUInt16BE(0);
    end();
    events.closed(code, body.subarray(2).toString());
  }

  function hear(bytes: Uint8Array): void {
    const frame = readFrame(bytes);
    if (isEnded) return;
    if (frame === undefined || frame.sequence !== nextIn) {
      lose();
      return;
    }
    nextIn = (nextIn + 1) >>> 0;
    if (frame.kind === 'text' || frame.kind === 'binary') hearPart(frame);
    else if (frame.kind === 'taken') hearTaken(readCount(frame.body));
    else if (frame.kind === 'close') hearClose(frame.body);
    else events.opened?.();
  }

  const stops = [
    link.listen(here, hear),
    link.listen(beat(here), (_, answer) => answer(Buffer.alloc(0))),
  ];

  async function askThere(): Promise<void> {
    try {
      if ((await link.ask(beat(there), Buffer.alloc(0))) === undefined) lose();
    } catch (error) {
      if (!(error instanceof BackplaneFault)) throw error;
      lose();
    }
  }

  const pipe: Pipe = {
    open: () => write('open', Buffer.alloc(0)),
    send(data, isBinary, sent) {
      if (isEnded) return;
      const all = partsOf(data);
      sentBytes += data.length + messageCost;
      waiting.push({ until: sentBytes, done: sent });
      all.forEach((part, at) => {
        write(isBinary ? 'binary' : 'text', part, at < all.length - 1);
      });
    },
    buffered: () => (isEnded ? 0 : sentBytes - takenThere),
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      tellTaken();
    },
    close(code, word) {
      if (isEnded) return;
      const head = Buffer.alloc(2);
      head.writeUInt16BE(code, 0);
      write('close', Buffer.concat([head, Buffer.from(word)]));
      end();
    },
    tick(now) {
      if (isEnded || now < beatAt) return;
      beatAt = now + beatMs;
      void askThere();
    },
    cut: lose,
  };
  return pipe;
}
