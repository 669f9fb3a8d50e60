/** Checks days of the calendar. */

/** Whether a text such as `2026-02-28` is a day of the calendar, and not merely digits in the places of one. */
export function isCalendarDay(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  return Number.isFinite(time) && new Date(time).toISOString().startsWith(text);
}
