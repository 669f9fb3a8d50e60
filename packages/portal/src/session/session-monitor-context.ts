/** The watch over the session, for the parts of the shell that warn. */
import { createContext, use, useSyncExternalStore } from 'react';
import type { SessionState, SessionWatch } from './session-monitor.ts';

export const WatchContext = createContext<SessionWatch | undefined>(undefined);

export function useSessionState(): {
  readonly state: SessionState;
  readonly secondsLeft: number;
  readonly touch: () => void;
  readonly left: () => void;
} {
  const watch = use(WatchContext);
  if (watch === undefined) throw new Error('outside of the session');
  const state = useSyncExternalStore(watch.subscribe, watch.state);
  const left = useSyncExternalStore(watch.subscribe, () =>
    watch.state() === 'idle' ? watch.secondsLeft() : 0,
  );
  return { state, secondsLeft: left, touch: watch.keepAlive, left: watch.announceSignOut };
}
