// Passes messages between two ends as they are, no faster than the slower one reads. It never looks into them.

/** Where the sender is held, and where it goes on. */
const highWaterBytes = 256 * 1024;
const lowWaterBytes = 64 * 1024;
/** Whoever has so much before it for long is given up, though it reads. */
export const slowBytes = 1024 * 1024;
/** The same in messages: each costs memory of its own, however short it is. */
const highWaterMessages = 1024;
const lowWaterMessages = 256;

/** An end of a session: a connection, or a caller in this process. */
export type End = {
  send(data: Buffer | string, isBinary?: boolean, sent?: () => void): void;
  /** Bytes that the other side has not taken yet. */
  buffered(): number;
  /** Reads no further, until it is resumed. */
  pause(): void;
  resume(): void;
  close(code: number, word: string): void;
};

export type Lane = {
  pass(data: Buffer, isBinary: boolean): void;
  /** Since when the reader has taken nothing, or had too much before it; undefined while it keeps up. */
  slowSince(): number | undefined;
  /** Lets the sender go on, whoever reads. */
  end(): void;
};

/**
 * A callback for each message costs as much as all the rest that is done here: as long as the reader keeps up
 * there is none, and what is on its way is known to be little. Once it lags each message tells when it was
 * taken, until all were.
 *
 * @example const lane = createLane({ from: device, to: pos, now: clock.now, passed: count });
 */
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
  /** Sent without a callback since nothing was before the reader. */
  let loose = 0;
  /** Sent with one that has not come. */
  let told = 0;
  /** What was before the reader when it was last looked: what goes without a callback moves, too. */
  let seen = 0;

  function weigh(): void {
    over = to.buffered() > slowBytes ? (over ?? now()) : undefined;
  }

  function sent(): void {
    // Whatever went without a callback went before it.
    loose = 0;
    told -= 1;
    if (!isFull) return;
    movedAt = now();
    weigh();
    if (told > lowWaterMessages || to.buffered() > lowWaterBytes) return;
    isFull = false;
    from.resume();
  }

  function fill(): void {
    isFull = true;
    movedAt = now();
    seen = to.buffered();
    weigh();
    from.pause();
  }

  return {
    pass(data, isBinary) {
      passed(data.length);
      const before = to.buffered();
      if (before === 0) loose = 0;
      const isQuick =
        told === 0 && loose < lowWaterMessages && before + data.length <= lowWaterBytes;
      if (isQuick) {
        loose += 1;
        to.send(data, isBinary);
        return;
      }
      told += 1;
      to.send(data, isBinary, sent);
      if (isFull) weigh();
      else if (loose + told > highWaterMessages || to.buffered() > highWaterBytes) fill();
    },
    slowSince() {
      if (!isFull) return undefined;
      weigh();
      const left = to.buffered();
      if (left < seen) movedAt = now();
      seen = left;
      return Math.min(movedAt, over ?? movedAt);
    },
    end() {
      if (!isFull) return;
      isFull = false;
      from.resume();
    },
  };
}
