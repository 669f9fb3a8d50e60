// One open stream: writes what happens, never ahead of a reader that is slow, until a reason ends it.
import { errorCodes, Refusal } from '@switchyard/contract';
import { jittered, type Log, type Subscription } from '../../platform/index.ts';
import { formatEvent, formatStreamEnd, type StreamEvent } from './event-format.ts';
import type { StreamConnection } from './stream-connection.ts';
import type { ScheduledTick } from './stream-schedule.ts';

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

export type StreamTimings = {
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

export const defaultStreamTimings: StreamTimings = {
  tickMs: 500,
  // Proxies give up after 60 s of silence, clients after 45; with a tick it stays within 30.
  heartbeatMs: 29_000,
  recheckMs: 10_000,
  slowReaderMs: 10_000,
  retryMs: 1000,
  closeMs: 5000,
};

const maxFailures = 6;

export type OpenStreamDeps = {
  readonly read: ReadPage;
  /** Rejects with a Refusal once the client may not read any more; gives when its token expires. */
  readonly authorize: () => Promise<number>;
  readonly log: Log;
  readonly timings: StreamTimings;
  readonly nowMs: () => number;
  readonly wallMs: () => number;
  /** When `tick` is to be called next. */
  readonly schedule: Pick<ScheduledTick, 'setNext'>;
  /** Once, whatever ended it. */
  readonly onEnd: (reason: string) => void;
};

export type StreamStart = {
  readonly connection: StreamConnection;
  readonly opening: string;
  /** The cursor of the client, and what was found behind it. */
  readonly from: number;
  readonly first: StreamPage;
  readonly subscription: Subscription;
  readonly expiresAt: number;
};

export type OpenStream = {
  begin(opened: StreamStart): void;
  /** There may be something new, up to this version. */
  wake(version: number): void;
  /** Tells the client why, and closes. */
  end(reason: string): void;
  tick(): void;
};

/** Only what a client may not do any more ends a stream; a database that is away does not. */
function endReasonOf(error: unknown): string | undefined {
  if (!(error instanceof Refusal)) return undefined;
  const { status } = errorCodes[error.code];
  return status >= 500 || status === 429 ? undefined : error.code;
}

export function createOpenStream(deps: OpenStreamDeps): OpenStream {
  const { read, authorize, log, timings, nowMs, wallMs, schedule, onEnd } = deps;
  let connection: StreamConnection | undefined;
  let subscription: Subscription | undefined;
  let after = 0;
  let expiresAt = 0;
  /** True until it has begun: who wakes it earlier is remembered. */
  let isPumping = true;
  /** What it was woken for. */
  let wakeVersion = 0;
  /** There may be more without being woken for it, as at the beginning. */
  let mayHaveMore = true;
  let isEnded = false;
  /** What is to be told at the beginning, where it has ended before. */
  let endedBy = '';
  let failures = 0;
  let retryAtMs = 0;
  let heartbeatAtMs = 0;
  let checkAtMs = 0;
  /** Since when the reader takes nothing. */
  let fullSinceMs: number | undefined;
  let drained: (() => void) | undefined;

  function afterWrite(isTaken: boolean | undefined, nextHeartbeatMs: number): void {
    const now = nowMs();
    if (isTaken === false) fullSinceMs ??= now;
    heartbeatAtMs = now + nextHeartbeatMs;
    plan(now);
  }

  /** The first of what can be due; an expiry by the wall is looked at with each check as well. */
  function plan(now: number): void {
    const written = fullSinceMs === undefined ? heartbeatAtMs : fullSinceMs + timings.slowReaderMs;
    const first = Math.min(written, checkAtMs, now + Math.max(0, expiresAt - wallMs()));
    schedule.setNext(failures > 0 ? Math.min(first, retryAtMs) : first);
  }

  const write = (text: string): void =>
    afterWrite(connection?.write(text), jittered(timings.heartbeatMs));
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
    // A reader that takes nothing would hold the ending back as well.
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
    subscription?.seen(next);
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
      // What is not for this reader leaves it where it is; a wake-up during the read is another one.
      if (wakeVersion === targetVersion) wakeVersion = before;
    }
  }

  function onReadFailure(error: unknown): void {
    const code = endReasonOf(error);
    failures += 1;
    retryAtMs = nowMs() + jittered(timings.retryMs * 2 ** failures);
    plan(nowMs());
    if (code !== undefined) end(code);
    if (isEnded || failures < maxFailures) return;
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
      // Nothing tells of a client that left while the first page was read.
      if (connection.isClosed()) return finish('left');
      checkAtMs = nowMs() + jittered(timings.recheckMs);
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
