/** The time of day, in one place, so that nothing else of the portal reads a clock. */
export function nowMs(): number {
  return Date.now();
}
