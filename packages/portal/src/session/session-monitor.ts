/**
 * Monitors the remaining time of the session. It ends a while after the last request. User activity
 * without requests extends it, and an idle user gets a warning. All tabs of a browser share one
 * session and exchange messages.
 */
import { nowMs } from './clock.ts';

export type SessionState = 'alive' | 'idle' | 'ended';

export type SessionMonitor = {
  state(): SessionState;
  /** The remaining time in seconds. */
  secondsLeft(): number;
  subscribe(listener: () => void): () => void;
  /** The platform accepted a request of this tab. */
  reportAcceptedCall(): void;
  /** The platform rejected a request with 401. */
  reportRejectedCall(): void;
  /** Extends the session, or detects its end. */
  keepAlive(): void;
  /** The user moved the pointer or pressed a key. */
  reportActivity(): void;
  /** The user signed out in this tab. */
  announceSignOut(): void;
  start(): () => void;
};

export type SessionMonitorOptions = {
  readonly idleSeconds: number;
  readonly expiresAtMs: number;
  /** Requests the session, which extends it or detects its end. */
  readonly keepAlive: () => Promise<unknown>;
  /** Identifies the user of the session. */
  readonly userKey: string;
  /** Another tab has another session or none, so the session must be read again. */
  readonly onChanged: () => void;
};

/** A message between tabs: `usedAt` after an accepted request, `isOver` after a sign-out. */
type TabMessage = { readonly userKey: string; readonly usedAt?: number; readonly isOver?: true };

const warnSeconds = 60;
const tickMs = 1_000;
const touchAfterMs = 60_000;
const channelName = 'switchyard-session';

export function createSessionMonitor(deps: SessionMonitorOptions): SessionMonitor {
  const { idleSeconds, expiresAtMs, keepAlive, userKey, onChanged } = deps;
  const listeners = new Set<() => void>();
  const channel = new BroadcastChannel(channelName);
  let usedAt = nowMs();
  let current: SessionState = 'alive';
  let isTouching = false;

  const endsAt = (): number => Math.min(usedAt + idleSeconds * 1_000, expiresAtMs);
  const secondsLeft = (): number => Math.max(0, Math.ceil((endsAt() - nowMs()) / 1_000));

  function setState(next: SessionState): void {
    const changed = next !== current;
    current = next;
    if (changed || next === 'idle') for (const listener of listeners) listener();
  }

  /** Errors are ignored here, because the connection monitor and the session report them. */
  function keepAliveOnce(): void {
    if (isTouching) return;
    isTouching = true;
    keepAlive()
      .catch(() => {})
      .finally(() => {
        isTouching = false;
      });
  }

  function extend(at: number): void {
    usedAt = Math.max(usedAt, at);
    setState('alive');
  }

  const broadcast = (message: Omit<TabMessage, 'userKey'>): void =>
    channel.postMessage({ userKey, ...message });

  function receive(message: TabMessage): void {
    if (message.userKey !== userKey || message.isOver) onChanged();
    else if (message.usedAt !== undefined) extend(message.usedAt);
    else if (current === 'ended') onChanged();
  }

  function tick(): void {
    if (current === 'ended') return;
    const remaining = secondsLeft();
    if (remaining > warnSeconds) setState('alive');
    else if (remaining > 0) setState('idle');
    else keepAliveOnce();
  }

  return {
    state: () => current,
    secondsLeft,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    reportAcceptedCall() {
      extend(nowMs());
      broadcast({ usedAt });
    },
    reportRejectedCall: () => setState('ended'),
    keepAlive: keepAliveOnce,
    reportActivity() {
      if (current === 'alive' && nowMs() - usedAt > touchAfterMs) keepAliveOnce();
    },
    announceSignOut: () => broadcast({ isOver: true }),
    start() {
      const timer = setInterval(tick, tickMs);
      channel.onmessage = ({ data }: MessageEvent<TabMessage>) => receive(data);
      broadcast({});
      return () => {
        clearInterval(timer);
        channel.onmessage = null;
      };
    },
  };
}
