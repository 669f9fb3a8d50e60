/** Short messages that tell what was done: a store that the edge of the window listens to. */
import { newId } from '../../session/random-values.ts';

export type Notice = { readonly id: string; readonly text: string; readonly tone: 'good' | 'bad' };

const displayMs = 6_000;
const maxToasts = 4;
const listeners = new Set<() => void>();
let notices: readonly Notice[] = [];

function show(next: readonly Notice[]): void {
  notices = next.slice(-maxToasts);
  for (const listener of listeners) listener();
}

export function dismiss(id: string): void {
  show(notices.filter((each) => each.id !== id));
}

/** Tells what was done; what went wrong belongs beside what was tried, see `Problem`. */
export function notify(text: string, tone: Notice['tone'] = 'good'): void {
  const id = newId();
  show([...notices, { id, text, tone }]);
  setTimeout(() => dismiss(id), displayMs);
}

export function onNotices(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function visibleToasts(): readonly Notice[] {
  return notices;
}
