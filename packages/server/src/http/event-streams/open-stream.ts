// One open event stream: writes events at the speed of the client until the stream ends with a reason.
import { errorCodes, ProblemError } from '@switchyard/contract';
import { type Log, type Subscription, withJitter } from '../../platform/index.ts';
import { formatEvent, formatStreamEnd, type StreamEvent } from './event-format.ts';
import type { StreamConnection } from './stream-connection.ts';
import type { ScheduledTick } from './stream-schedule.ts';

/** The events after a cursor. */
export type StreamPage = {
  /** In the order of their ids; few enough to keep in memory for each client. */
  readonly events: readonly StreamEvent[];
  /** The next cursor: after the last event and after filtered events. */
  readonly next: number;
  /** True with the last event of a list that has ended. */
  readonly isLast?: boolean;
};

export type ReadPage = (after: number) => Promise<StreamPage>;

export type StreamTimings = {
  /** The interval of the checks of open streams. */
  readonly tickMs: number;
  /** Between heartbeats; after an event the time is shortened at random, so that streams do not write together. */
  readonly heartbeatMs: number;
  /** The interval of the authorization check, which may use its own cache. */
  readonly recheckMs: number;
  /** A client that reads nothing for this time is disconnected. */
  readonly slowReaderMs: number;
  /** The delay after a failed read; it doubles with each further failure. */
  readonly retryMs: number;
  /** How long an ended stream may take to close. */
  readonly closeMs: number;
};

export const defaultStreamTimings: StreamTimings = {
  tickMs: 500,
  // Proxies close idle connections after 60 s, clients after 45 s; with one tick it stays below 30 s.
  heartbeatMs: 29_000,
  recheckMs: 10_000,
  slowReaderMs: 10_000,
  retryMs: 1000,
  closeMs: 5000,
};

const maxFailures = 6;

export type OpenStreamDeps = {
  readonly read: ReadPage;
  /** Returns the expiry time of the token. @throws ProblemError when the client lost its permission */
  readonly authorize: () => Promise<number>;
  readonly log: Log;
  readonly timings: StreamTimings;
  readonly nowMs: () => number;
  readonly wallMs: () => number;
  /** Sets the time of the next `tick`. */
  readonly schedule: Pick<ScheduledTick, 'setNext'>;
  /** Called once, for every reason of the end. */
  readonly onEnd: (reason: string) => void;
};

export type StreamStart = {
  readonly connection: StreamConnection;
  readonly opening: string;
  /** The cursor of the client, and the events after it. */
  readonly from: number;
  readonly first: StreamPage;
  readonly subscription: Subscription;
  readonly expiresAt: number;
};

export type OpenStream = {
  begin(opened: StreamStart): void;
  /** New events may exist, up to this version. */
  wake(version: number): void;
  /** Sends the reason to the client and closes the stream. */
  end(reason: string): void;
  tick(): void;
};

/** A lost permission ends a stream; an unavailable database does not. */
function endReasonOf(error: unknown): string | undefined {
  if (!(error instanceof ProblemError)) return undefined;
  const { status } = errorCodes[error.code];
  return status >= 500 || status === 429 ? undefined : error.code;
}

export function createOpenStream(deps: OpenStreamDeps): OpenStream {
  const { read, authorize, log, timings, nowMs, wallMs, schedule, onEnd } = deps;
  let connection: StreamConnection | undefined;
  let subscription: Subscription | undefined;
  let after = 0;
  let expiresAt = 0;
  /** True until the stream has begun; an earlier wake-up is remembered in `wakeVersion`. */
  let isPumping = true;
  /** The highest version of a wake-up. */
  let wakeVersion = 0;
  /** More events may exist without a wake-up, as at the beginning. */
  let mayHaveMore = true;
  let isEnded = false;
  /** The reason, when the stream ended before it began. */
  let endedBy = '';
  let failures = 0;
  let retryAtMs = 0;
  let heartbeatAtMs = 0;
  let checkAtMs = 0;
  /** The time since which the client reads nothing. */
  let fullSinceMs: number | undefined;
  let drained: (() => void) | undefined;

  function afterWrite(isTaken: boolean | undefined, nextHeartbeatMs: number): void {
    const now = nowMs();
    if (isTaken === false) fullSinceMs ??= now;
    heartbeatAtMs = now + nextHeartbeatMs;
    plan(now);
  }

  /** Schedules the earliest of all due times; each authorization check updates the expiry too. */
  function plan(now: number): void {
    const written = fullSinceMs === undefined ? heartbeatAtMs : fullSinceMs + timings.slowReaderMs;
    const first = Math.min(written, checkAtMs, now + Math.max(0, expiresAt - wallMs()));
    schedule.setNext(failures > 0 ? Math.min(first, retryAtMs) : first);
  }

  const write = (text: string): void =>
    afterWrite(connection?.write(text), withJitter(timings.heartbeatMs));
  const sendHeartbeat = (): void => afterWrite(connection?.sendHeartbeat(), timings.heartbeatMs);

  function onDrain(): void {
    fullSinceMs = undefined;
    plan(nowMs());
    drained?.();
  }

  function finish(reason: string): void {
    if (isEnded) return;
    isEnded = true;
    endedBy = reason;
    subscription?.end();
    drained?.();
    onEnd(reason);
  }

  function end(reason: string): void {
    if (isEnded) return;
    finish(reason);
    if (connection === undefined) return;
    // A client that reads nothing would not read the end either.
    if (fullSinceMs !== undefined) {
      connection.destroy();
      return;
    }
    close(connection, reason);
  }

  function close(openConnection: StreamConnection, reason: string): void {
    openConnection.end(formatStreamEnd(reason));
    setTimeout(() => openConnection.destroy(), timings.closeMs).unref();
  }

  async function deliver({ events, next, isLast }: StreamPage): Promise<void> {
    if (events.length > 0) write(events.map(formatEvent).join(''));
    after = next;
    subscription?.acknowledge(next);
    if (isLast === true) end('completed');
    if (fullSinceMs === undefined || isEnded) return;
    await new Promise<void>((resolve) => {
      drained = resolve;
    });
  }

  async function readOn(): Promise<void> {
    while (!isEnded && (mayHaveMore || after < wakeVersion)) {
      const before = after;
      const targetVersion = wakeVersion;
      const page = await read(before);
      if (isEnded) return;
      await deliver(page);
      if (page.next > before) continue;
      mayHaveMore = false;
      // Filtered events do not move the cursor; a wake-up during the read causes another read.
      if (wakeVersion === targetVersion) wakeVersion = before;
    }
  }

  function onReadFailure(error: unknown): void {
    const code = endReasonOf(error);
    failures += 1;
    retryAtMs = nowMs() + withJitter(timings.retryMs * 2 ** failures);
    plan(nowMs());
    if (code !== undefined) end(code);
    if (isEnded || failures < maxFailures) return;
    log.warn({ err: error, failures }, 'an event stream ends because its events could not be read');
    end('interrupted');
  }

  async function pump(): Promise<void> {
    if (isPumping || isEnded) return;
    isPumping = true;
    try {
      await readOn();
      failures = 0;
    } catch (error) {
      onReadFailure(error);
    }
    isPumping = false;
  }

  async function check(): Promise<void> {
    checkAtMs = nowMs() + timings.recheckMs;
    try {
      expiresAt = await authorize();
    } catch (error) {
      const code = endReasonOf(error);
      if (code !== undefined) end(code);
    }
    plan(nowMs());
  }

  return {
    begin({ opening, from, first, ...opened }) {
      ({ connection, subscription, expiresAt } = opened);
      if (isEnded) {
        subscription.end();
        return close(connection, endedBy);
      }
      // No event reports a client that disconnected during the first read.
      if (connection.isClosed()) return finish('left');
      checkAtMs = nowMs() + withJitter(timings.recheckMs);
      connection.listen({ onDrain, onClose: () => finish('left') });
      write(opening);
      deliver(first)
        .then(() => {
          isPumping = false;
          mayHaveMore = first.next > from;
          return pump();
        })
        .catch(onReadFailure);
    },
    wake(version) {
      wakeVersion = Math.max(wakeVersion, version);
      void pump();
    },
    end,
    tick() {
      if (isEnded) return;
      const now = nowMs();
      if (fullSinceMs !== undefined && now - fullSinceMs >= timings.slowReaderMs) {
        finish('slow_reader');
        connection?.destroy();
      } else if (wallMs() >= expiresAt) {
        end('token_expired');
      } else {
        if (now >= checkAtMs) void check();
        if (failures > 0 && now >= retryAtMs) void pump();
        if (now >= heartbeatAtMs && fullSinceMs === undefined) sendHeartbeat();
      }
      plan(now);
    },
  };
}
