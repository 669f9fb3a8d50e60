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
export type MessageEndpoint = {
  send(data: Buffer | string, isBinary?: boolean, onSent?: () => void): void;
  /** Bytes that the other side has not taken yet. */
  buffered(): number;
  /** Stops reading until `resume`. */
  pause(): void;
  resume(): void;
  close(code: number, reason: string): void;
};

export type Forwarder = {
  forward(data: Buffer, isBinary: boolean): void;
  /**
   * The time since which the reader takes nothing or has too much unread data; otherwise undefined.
   */
  slowSince(): number | undefined;
  /** Resumes the sender. */
  stop(): void;
};

/**
 * A callback for each message costs as much as all other work here. While the reader keeps up, the
 * relay uses no callbacks, because little data is on its way. When the reader lags, each message
 * has a callback until the reader has taken all messages.
 *
 * @example const forwarder = createForwarder({ from: device, to: pos, now: clock.now, onForwarded: count });
 */
export function createForwarder({
  from,
  to,
  now,
  onForwarded,
}: {
  from: Pick<MessageEndpoint, 'pause' | 'resume'>;
  to: Pick<MessageEndpoint, 'send' | 'buffered'>;
  now: () => number;
  onForwarded: (bytes: number) => void;
}): Forwarder {
  let isPaused = false;
  let progressAt = 0;
  let overLimitSince: number | undefined;
  /** Messages sent without a callback since the buffer was last empty. */
  let untrackedMessages = 0;
  /** Messages sent with a callback that has not run yet. */
  let trackedMessages = 0;
  /** The buffered bytes at the last check; a lower value shows progress even without a callback. */
  let lastBufferedBytes = 0;

  function updateOverLimit(): void {
    overLimitSince = to.buffered() > slowBytes ? (overLimitSince ?? now()) : undefined;
  }

  function onSent(): void {
    // The relay sent the messages without a callback earlier, so the reader has taken them too.
    untrackedMessages = 0;
    trackedMessages -= 1;
    if (!isPaused) return;
    progressAt = now();
    updateOverLimit();
    if (trackedMessages > lowWaterMessages || to.buffered() > lowWaterBytes) return;
    isPaused = false;
    from.resume();
  }

  function pauseSender(): void {
    isPaused = true;
    progressAt = now();
    lastBufferedBytes = to.buffered();
    updateOverLimit();
    from.pause();
  }

  return {
    forward(data, isBinary) {
      onForwarded(data.length);
      const bufferedBefore = to.buffered();
      if (bufferedBefore === 0) untrackedMessages = 0;
      const needsNoCallback =
        trackedMessages === 0 &&
        untrackedMessages < lowWaterMessages &&
        bufferedBefore + data.length <= lowWaterBytes;
      if (needsNoCallback) {
        untrackedMessages += 1;
        to.send(data, isBinary);
        return;
      }
      trackedMessages += 1;
      to.send(data, isBinary, onSent);
      if (isPaused) updateOverLimit();
      else if (
        untrackedMessages + trackedMessages > highWaterMessages ||
        to.buffered() > highWaterBytes
      )
        pauseSender();
    },
    slowSince() {
      if (!isPaused) return undefined;
      updateOverLimit();
      const bufferedBytes = to.buffered();
      if (bufferedBytes < lastBufferedBytes) progressAt = now();
      lastBufferedBytes = bufferedBytes;
      return Math.min(progressAt, overLimitSince ?? progressAt);
    },
    stop() {
      if (!isPaused) return;
      isPaused = false;
      from.resume();
    },
  };
}
