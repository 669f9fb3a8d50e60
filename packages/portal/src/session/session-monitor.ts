/**
 * How long the session still lasts. It ends some time after the last call; whoever reads without
 * calling is kept in by a call of his own from time to time, and warned where he does nothing. All
 * tabs of a browser have one session, and tell each other of it.
 */
import { nowMs } from './clock.ts';

export type SessionState = 'alive' | 'idle' | 'ended';

export type SessionWatch = {
  state(): SessionState;
  /** What is left until the end, in seconds. */
  secondsLeft(): number;
  subscribe(listener: () => void): () => void;
  /** A call of this tab was let in. */
  reportAcceptedCall(): void;
  /** A call was not let in. */
  reportRejectedCall(): void;
  /** Keeps the session alive, or finds that it has ended. */
  keepAlive(): void;
  /** Somebody moved the pointer or pressed a key. */
  reportActivity(): void;
  /** Whoever it was has signed out here. */
  announceSignOut(): void;
  start(): () => void;
};

export type WatchDeps = {
  readonly idleSeconds: number;
  readonly expiresAtMs: number;
  /** Asks for the session: that keeps it alive, or tells that it has ended. */
  readonly keepAlive: () => Promise<unknown>;
  /** Whose session it is. */
  readonly userKey: string;
  /** Another tab has somebody else's session, a new one, or none any more: it is to be looked at. */
  readonly onChanged: () => void;
};

/** What tabs tell each other; `usedAt` where a call was let in, `isOver` where somebody signed out. */
type TabMessage = { readonly userKey: string; readonly usedAt?: number; readonly isOver?: true };

const warnSeconds = 60;
const tickMs = 1_000;
const touchAfterMs = 60_000;
const channelName = 'switchyard-session';

export function createSessionWatch(deps: WatchDeps): SessionWatch {
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

  /** A touch that fails says nothing: the connection or the session tells for itself. */
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

  const broadcast = (message: Omit<TabMessage, 'userKey'>): void => channel.postMessage({ userKey, ...message });

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
