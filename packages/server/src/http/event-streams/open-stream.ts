// One open stream: writes what happens, never ahead of a reader that is slow, until a reason ends it.
import { errorCodes, Refusal } from '@switchyard/contract';
import { jittered, type Log, type Subscription } from '../../platform/index.ts';
import { endText, eventText, type StreamEvent } from './event-format.ts';
import type { Line } from './stream-connection.ts';
import type { Due } from './stream-schedule.ts';

/** What a reader of a list finds behind a cursor. */
export type StreamPage = {
  /** In the order of their ids, few enough to be held in memory for each reader. */
  readonly events: readonly StreamEvent[];
  /** Where to go on: behind the last event, and behind those that were left out by a filter. */
  readonly next: number;
  /** Nothing will follow these: told with the last event itself, since nothing wakes a reader after it. */
  readonly isLast?: boolean;
};

export type ReadPage = (after: number) => Promise<StreamPage>;

export type StreamTimes = {
  /** How often open streams are looked after. */
  readonly tickMs: number;
  /** After the one before; behind an event it comes sooner by chance, so that those of many lie apart. */
  readonly heartbeatMs: number;
  /** A token that was revoked is noticed within this and what the check itself may remember. */
  readonly recheckMs: number;
  /** A reader that takes nothing for so long is cut off. */
  readonly slowReaderMs: number;
  /** After a read that failed, doubling with each further one. */
  readonly retryMs: number;
  /** How long an ended stream may take to be closed. */
  readonly closeMs: number;
};

export const defaultStreamTimes: StreamTimes = {
  tickMs: 500,
  // Proxies give up after 60 s of silence, clients after 45; with a tick it stays within 30.
  heartbeatMs: 29_000,
  recheckMs: 10_000,
  slowReaderMs: 10_000,
  retryMs: 1000,
  closeMs: 5000,
};

const failuresMax = 6;

export type StreamDeps = {
  readonly read: ReadPage;
  /** Rejects with a Refusal once the client may not read any more; gives when its token expires. */
  readonly authorize: () => Promise<number>;
  readonly log: Log;
  readonly times: StreamTimes;
  readonly nowMs: () => number;
  readonly wallMs: () => number;
  /** When `tick` is to be called next. */
  readonly due: Pick<Due, 'at'>;
  /** Once, whatever ended it. */
  readonly onEnd: (reason: string) => void;
};

export type Opened = {
  readonly line: Line;
  readonly opening: string;
  /** The cursor of the client, and what was found behind it. */
  readonly from: number;
  readonly first: StreamPage;
  readonly subscription: Subscription;
  readonly expiresAt: number;
};

export type OpenStream = {
  begin(opened: Opened): void;
  /** There may be something new, up to this version. */
  wake(version: number): void;
  /** Tells the client why, and closes. */
  end(reason: string): void;
  tick(): void;
};

/** Only what a client may not do any more ends a stream; a database that is away does not. */
function endingCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Refusal)) return undefined;
  const { status } = errorCodes[error.code];
  return status >= 500 || status === 429 ? undefined : error.code;
}

export function createOpenStream(deps: StreamDeps): OpenStream {
  const { read, authorize, log, times, nowMs, wallMs, due, onEnd } = deps;
  let line: Line | undefined;
  let subscription: Subscription | undefined;
  let after = 0;
  let expiresAt = 0;
  /** True until it has begun: who wakes it earlier is remembered. */
  let isPumping = true;
  /** What it was woken for. */
  let target = 0;
  /** There may be more without being woken for it, as at the beginning. */
  let isBehind = true;
  let isEnded = false;
  /** What is to be told at the beginning, where it has ended before. */
  let endedBy = '';
  let failures = 0;
  let retryAtMs = 0;
  let beatAtMs = 0;
  let checkAtMs = 0;
  /** Since when the reader takes nothing. */
  let fullSinceMs: number | undefined;
  let drained: (() => void) | undefined;

  function wrote(isTaken: boolean | undefined, nextBeatMs: number): void {
    const now = nowMs();
    if (isTaken === false) fullSinceMs ??= now;
    beatAtMs = now + nextBeatMs;
    plan(now);
  }

  /** The first of what can be due; an expiry by the wall is looked at with each check as well. */
  function plan(now: number): void {
    const written = fullSinceMs === undefined ? beatAtMs : fullSinceMs + times.slowReaderMs;
    const first = Math.min(written, checkAtMs, now + Math.max(0, expiresAt - wallMs()));
    due.at(failures > 0 ? Math.min(first, retryAtMs) : first);
  }

  const write = (text: string): void => wrote(line?.write(text), jittered(times.heartbeatMs));
  const beat = (): void => wrote(line?.beat(), times.heartbeatMs);

  function onDrain(): void {
    fullSinceMs = undefined;
    plan(nowMs());
    drained?.();
  }

  function over(reason: string): void {
    if (isEnded) return;
    isEnded = true;
    endedBy = reason;
    subscription?.end();
    drained?.();
    onEnd(reason);
  }

  function end(reason: string): void {
    if (isEnded) return;
    over(reason);
    if (line === undefined) return;
    // A reader that takes nothing would hold the ending back as well.
    if (fullSinceMs !== undefined) {
      line.destroy();
      return;
    }
    close(line, reason);
  }

  function close(told: Line, reason: string): void {
    told.end(endText(reason));
    setTimeout(() => told.destroy(), times.closeMs).unref();
  }

  async function tell({ events, next, isLast }: StreamPage): Promise<void> {
    if (events.length > 0) write(events.map(eventText).join(''));
    after = next;
    subscription?.seen(next);
    if (isLast === true) end('completed');
    if (fullSinceMs === undefined || isEnded) return;
    await new Promise<void>((resolve) => {
      drained = resolve;
    });
  }

  async function readOn(): Promise<void> {
    while (!isEnded && (isBehind || after < target)) {
      const before = after;
      const aim = target;
      const page = await read(before);
      if (isEnded) return;
      await tell(page);
      if (page.next > before) continue;
      isBehind = false;
      // What is not for this reader leaves it where it is; a wake-up during the read is another one.
      if (target === aim) target = before;
    }
  }

  function failed(error: unknown): void {
    const code = endingCodeOf(error);
    failures += 1;
    retryAtMs = nowMs() + jittered(times.retryMs * 2 ** failures);
    plan(nowMs());
    if (code !== undefined) end(code);
    if (isEnded || failures < failuresMax) return;
    log.warn({ err: error, failures }, 'a stream ends, since its events could not be read');
    end('interrupted');
  }

  async function pump(): Promise<void> {
    if (isPumping || isEnded) return;
    isPumping = true;
    try {
      await readOn();
      failures = 0;
    } catch (error) {
      failed(error);
    }
    isPumping = false;
  }

  async function check(): Promise<void> {
    checkAtMs = nowMs() + times.recheckMs;
    try {
      expiresAt = await authorize();
    } catch (error) {
      const code = endingCodeOf(error);
      if (code !== undefined) end(code);
    }
    plan(nowMs());
  }

  return {
    begin({ opening, from, first, ...opened }) {
      ({ line, subscription, expiresAt } = opened);
      if (isEnded) {
        subscription.end();
        return close(line, endedBy);
      }
      // Nothing tells of a client that left while the first page was read.
      if (line.isGone()) return over('left');
      checkAtMs = nowMs() + jittered(times.recheckMs);
      line.hear({ onDrain, onClose: () => over('left') });
      write(opening);
      tell(first)
        .then(() => {
          isPumping = false;
          isBehind = first.next > from;
          return pump();
        })
        .catch(failed);
    },
    wake(version) {
      target = Math.max(target, version);
      void pump();
    },
    end,
    tick() {
      if (isEnded) return;
      const now = nowMs();
      if (fullSinceMs !== undefined && now - fullSinceMs >= times.slowReaderMs) {
        over('slow_reader');
        line?.destroy();
      } else if (wallMs() >= expiresAt) {
        end('token_expired');
      } else {
        if (now >= checkAtMs) void check();
        if (failures > 0 && now >= retryAtMs) void pump();
        if (now >= beatAtMs && fullSinceMs === undefined) beat();
      }
      plan(now);
    },
  };
}
