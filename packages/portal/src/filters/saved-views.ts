/** Sets of filters that a user has given a name; they stay in this browser. */
export type SavedView = { readonly name: string; readonly search: string };

export const viewsMost = 20;
export const nameMost = 60;

const keyOf = (list: string, sub: string): string => `switchyard-views ${sub} ${list}`;

/** What lies in a browser may be anything. */
function isView(value: unknown): value is SavedView {
  if (typeof value !== 'object' || value === null) return false;
  const { name, search } = value as Partial<SavedView>;
  return typeof name === 'string' && typeof search === 'string' && name.length <= nameMost;
}

export function readViews(list: string, sub: string): SavedView[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(keyOf(list, sub)) ?? '[]');
    return Array.isArray(stored) ? stored.filter(isView).slice(0, viewsMost) : [];
  } catch {
    return [];
  }
}

/** The same name again replaces what it stood for. */
export function withView(views: readonly SavedView[], view: SavedView): SavedView[] {
  const others = views.filter(({ name }) => name !== view.name);
  return [...others, view].slice(-viewsMost);
}

export function writeViews(list: string, sub: string, views: readonly SavedView[]): void {
  localStorage.setItem(keyOf(list, sub), JSON.stringify(views));
}
