/** Named filters of a list, stored in this browser. */
export type SavedView = { readonly name: string; readonly search: string };

export const maxViews = 20;
export const maxNameLength = 60;

const keyOf = (list: string, sub: string): string => `switchyard-views ${sub} ${list}`;

/** The browser storage may contain any data. */
function isView(value: unknown): value is SavedView {
  if (typeof value !== 'object' || value === null) return false;
  const { name, search } = value as Partial<SavedView>;
  return typeof name === 'string' && typeof search === 'string' && name.length <= maxNameLength;
}

export function readViews(list: string, sub: string): SavedView[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(keyOf(list, sub)) ?? '[]');
    return Array.isArray(stored) ? stored.filter(isView).slice(0, maxViews) : [];
  } catch {
    return [];
  }
}

/** Replaces the view with the same name. */
export function addView(views: readonly SavedView[], view: SavedView): SavedView[] {
  const others = views.filter(({ name }) => name !== view.name);
  return [...others, view].slice(-maxViews);
}

export function writeViews(list: string, sub: string, views: readonly SavedView[]): void {
  localStorage.setItem(keyOf(list, sub), JSON.stringify(views));
}
