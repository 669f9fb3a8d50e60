// Passes messages between two ends as they are, no faster than the slower one reads. It never looks into them.
import type { Peer } from './peers.ts';

/** Where the sender is held, and where it goes on. */
const highWaterBytes = 256 * 1024;
const lowWaterBytes = 64 * 1024;
/** Whoever has so much before it for long is given up, though it reads. */
const slowBytes = 1024 * 1024;
/** The same in messages: each costs memory of its own, however short it is. */
const highWaterMessages = 1024;
const lowWaterMessages = 256;

/** An end of a session: a connection, or a caller in this process. */
export type End = Pick<Peer, 'send' | 'buffered' | 'pause' | 'resume' | 'close'>;

export type Lane = {
  pass(data: Buffer, isBinary: boolean): void;
  /** Since when the reader has taken nothing, or had too much before it; undefined while it keeps up. */
  slowSince(): number | undefined;
  /** Lets the sender go on, whoever reads. */
  end(): void;
};

/** @example const lane = createLane({ from: device, to: pos, now: clock.now, passed: count }); */
export function createLane({
  from,
  to,
  now,
  passed,
}: {
  from: Pick<End, 'pause' | 'resume'>;
  to: Pick<End, 'send' | 'buffered'>;
  now: () => number;
  passed: (bytes: number) => void;
}): Lane {
  let isFull = false;
  let movedAt = 0;
  let over: number | undefined;
  let underWay = 0;

  function weigh(): void {
    over = to.buffered() > slowBytes ? (over ?? now()) : undefined;
  }

  function sent(): void {
    underWay -= 1;
    if (!isFull) return;
    movedAt = now();
    weigh();
    if (underWay > lowWaterMessages || to.buffered() > lowWaterBytes) return;
    isFull = false;
    from.resume();
  }

  return {
    pass(data, isBinary) {
      passed(data.length);
      underWay += 1;
      to.send(data, isBinary, sent);
      if (isFull) {
        weigh();
        return;
      }
      if (underWay <= highWaterMessages && to.buffered() <= highWaterBytes) return;
      isFull = true;
      movedAt = now();
      weigh();
      from.pause();
    },
    slowSince: () => (isFull ? Math.min(movedAt, over ?? movedAt) : undefined),
    end() {
      if (!isFull) return;
      isFull = false;
      from.resume();
    },
  };
}
