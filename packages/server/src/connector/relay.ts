// Passes messages between two ends as they are, no faster than the slower one reads. It never looks into them.
import type { Peer } from './peers.ts';

/** Where the sender is held, and where it goes on. */
const highWaterBytes = 256 * 1024;
const lowWaterBytes = 64 * 1024;
/** The same in messages: each costs memory of its own, however short it is. */
const highWaterMessages = 1024;
const lowWaterMessages = 256;

/** An end of a session: a connection, or a caller in this process. */
export type End = Pick<Peer, 'send' | 'buffered' | 'pause' | 'resume' | 'close'>;

export type Lane = {
  pass(data: Buffer, isBinary: boolean): void;
  /** Since when the reader has not kept up; undefined while it does. */
  fullSince(): number | undefined;
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
  let full: number | undefined;
  let underWay = 0;

  function sent(): void {
    underWay -= 1;
    if (full === undefined || underWay > lowWaterMessages) return;
    if (to.buffered() > lowWaterBytes) return;
    full = undefined;
    from.resume();
  }

  return {
    pass(data, isBinary) {
      passed(data.length);
      underWay += 1;
      to.send(data, isBinary, sent);
      if (full !== undefined) return;
      if (underWay <= highWaterMessages && to.buffered() <= highWaterBytes) return;
      full = now();
      from.pause();
    },
    fullSince: () => full,
    end() {
      if (full === undefined) return;
      full = undefined;
      from.resume();
    },
  };
}
