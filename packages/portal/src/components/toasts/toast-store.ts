/** The store of short messages about completed actions. */
import { newUuid } from '../../session/random-values.ts';

export type Toast = { readonly id: string; readonly text: string; readonly tone: 'good' | 'bad' };

const displayMs = 6_000;
const maxToasts = 4;
const listeners = new Set<() => void>();
let toasts: readonly Toast[] = [];

function show(next: readonly Toast[]): void {
  toasts = next.slice(-maxToasts);
  for (const listener of listeners) listener();
}

export function dismissToast(id: string): void {
  show(toasts.filter((each) => each.id !== id));
}

/** Reports a completed action. An error belongs beside the form instead, see `ErrorMessage`. */
export function showToast(text: string, tone: Toast['tone'] = 'good'): void {
  const id = newUuid();
  show([...toasts, { id, text, tone }]);
  setTimeout(() => dismissToast(id), displayMs);
}

export function subscribeToToasts(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function visibleToasts(): readonly Toast[] {
  return toasts;
}
