/** Provides the session monitor to the shell. */
import { createContext, use, useSyncExternalStore } from 'react';
import type { SessionMonitor, SessionState } from './session-monitor.ts';

export const SessionMonitorContext = createContext<SessionMonitor | undefined>(undefined);

export function useSessionState(): {
  readonly state: SessionState;
  readonly secondsLeft: number;
  readonly keepAlive: () => void;
  readonly announceSignOut: () => void;
} {
  const monitor = use(SessionMonitorContext);
  if (monitor === undefined) throw new Error('outside of the session');
  const state = useSyncExternalStore(monitor.subscribe, monitor.state);
  const secondsLeft = useSyncExternalStore(monitor.subscribe, () =>
    monitor.state() === 'idle' ? monitor.secondsLeft() : 0,
  );
  return {
    state,
    secondsLeft,
    keepAlive: monitor.keepAlive,
    announceSignOut: monitor.announceSignOut,
  };
}
