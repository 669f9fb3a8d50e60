/** Checks days of the calendar. */

/** Whether a text is an existing date, such as `2026-02-28`; `2026-02-30` is not. */
export function isCalendarDay(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  return Number.isFinite(time) && new Date(time).toISOString().startsWith(text);
}
