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
  used(): void;
  /** A call was not let in. */
  ended(): void;
  /** Keeps the session alive, or finds that it has ended. */
  touch(): void;
  /** Somebody moved the pointer or pressed a key. */
  acted(): void;
  /** Whoever it was has signed out here. */
  left(): void;
  start(): () => void;
};

export type WatchDeps = {
  readonly idleSeconds: number;
  readonly expiresAtMs: number;
  /** Asks for the session: that keeps it alive, or tells that it has ended. */
  readonly touch: () => Promise<unknown>;
  /** Whose session it is. */
  readonly who: string;
  /** Another tab has somebody else's session, a new one, or none any more: it is to be looked at. */
  readonly onChanged: () => void;
};

/** What tabs tell each other; `usedAt` where a call was let in, `isOver` where somebody signed out. */
type Told = { readonly who: string; readonly usedAt?: number; readonly isOver?: true };

const warnSeconds = 60;
const tickMs = 1_000;
const touchAfterMs = 60_000;
const channelName = 'switchyard-session';

export function createSessionWatch(deps: WatchDeps): SessionWatch {
  const { idleSeconds, expiresAtMs, touch, who, onChanged } = deps;
  const listeners = new Set<() => void>();
  const others = new BroadcastChannel(channelName);
  let usedAt = nowMs();
  let current: SessionState = 'alive';
  let isTouching = false;

  const endsAt = (): number => Math.min(usedAt + idleSeconds * 1_000, expiresAtMs);
  const secondsLeft = (): number => Math.max(0, Math.ceil((endsAt() - nowMs()) / 1_000));

  function tell(next: SessionState): void {
    const changed = next !== current;
    current = next;
    if (changed || next === 'idle') for (const listener of listeners) listener();
  }

  /** A touch that fails says nothing: the connection or the session tells for itself. */
  function ask(): void {
    if (isTouching) return;
    isTouching = true;
    touch()
      .catch(() => {})
      .finally(() => {
        isTouching = false;
      });
  }

  function heard(at: number): void {
    usedAt = Math.max(usedAt, at);
    tell('alive');
  }

  const say = (told: Omit<Told, 'who'>): void => others.postMessage({ who, ...told });

  function hear(told: Told): void {
    if (told.who !== who || told.isOver) onChanged();
    else if (told.usedAt !== undefined) heard(told.usedAt);
    else if (current === 'ended') onChanged();
  }

  function tick(): void {
    if (current === 'ended') return;
    const left = secondsLeft();
    if (left > warnSeconds) tell('alive');
    else if (left > 0) tell('idle');
    else ask();
  }

  return {
    state: () => current,
    secondsLeft,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    used() {
      heard(nowMs());
      say({ usedAt });
    },
    ended: () => tell('ended'),
    touch: ask,
    acted() {
      if (current === 'alive' && nowMs() - usedAt > touchAfterMs) ask();
    },
    left: () => say({ isOver: true }),
    start() {
      const timer = setInterval(tick, tickMs);
      others.onmessage = ({ data }: MessageEvent<Told>) => hear(data);
      say({});
      return () => {
        clearInterval(timer);
        others.onmessage = null;
      };
    },
  };
}
