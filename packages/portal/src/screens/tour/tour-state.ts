/** The progress of the tour, stored in this browser across reloads. */
import { useSyncExternalStore } from 'react';

export type TourState =
  | { readonly is: 'new' }
  | { readonly is: 'running'; readonly at: number }
  | { readonly is: 'over' };

const key = 'switchyard-tour';

/** Any stored text gives a valid state. */
export function readTour(text: string | null): TourState {
  if (text === null) return { is: 'new' };
  const at = /^\d{1,2}$/.test(text) ? Number(text) : undefined;
  return at === undefined ? { is: 'over' } : { is: 'running', at };
}

const listeners = new Set<() => void>();
let state: TourState | undefined;

function now(): TourState {
  state ??= readTour(localStorage.getItem(key));
  return state;
}

function set(next: TourState): void {
  state = next;
  localStorage.setItem(key, next.is === 'running' ? String(next.at) : 'over');
  for (const listener of listeners) listener();
}

export const tour = {
  begin: () => set({ is: 'running', at: 0 }),
  go: (at: number) => set({ is: 'running', at }),
  end: () => set({ is: 'over' }),
};

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useTour(): TourState {
  return useSyncExternalStore(subscribe, now);
}
