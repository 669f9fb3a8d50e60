// Passes messages between two ends unread and unchanged, at the speed of the slower end.

/** The relay pauses the sender above the high limit, and resumes it at the low limit. */
const highWaterBytes = 256 * 1024;
const lowWaterBytes = 64 * 1024;
/**
 * The server disconnects a reader that has more unread bytes than this for too long, even if it
 * reads.
 */
export const slowBytes = 1024 * 1024;
/** The same limits as a number of messages, because each message uses memory of its own. */
const highWaterMessages = 1024;
const lowWaterMessages = 256;

/** An end of a session: a connection, or a caller in this process. */
export type End = {
  send(data: Buffer | string, isBinary?: boolean, sent?: () => void): void;
  /** Bytes that the other side has not taken yet. */
  buffered(): number;
  /** Stops reading until `resume`. */
  pause(): void;
  resume(): void;
  close(code: number, word: string): void;
};

export type Lane = {
  pass(data: Buffer, isBinary: boolean): void;
  /**
   * The time since which the reader takes nothing or has too much unread data; otherwise undefined.
   */
  slowSince(): number | undefined;
  /** Resumes the sender. */
  end(): void;
};

/**
 * A callback for each message costs as much as all other work here. While the reader keeps up, the
 * relay uses no callbacks, because little data is on its way. When the reader lags, each message
 * has a callback until the reader has taken all messages.
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
  /** Messages sent without a callback since the buffer was last empty. */
  let loose = 0;
  /** Messages sent with a callback that has not run yet. */
  let told = 0;
  /** The buffered bytes at the last check; a lower value shows progress even without a callback. */
  let seen = 0;

  function weigh(): void {
    over = to.buffered() > slowBytes ? (over ?? now()) : undefined;
  }

  function sent(): void {
    // The relay sent the messages without a callback earlier, so the reader has taken them too.
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
