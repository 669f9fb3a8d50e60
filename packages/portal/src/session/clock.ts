/** The only place of the portal that reads the clock. */
export function nowMs(): number {
  return Date.now();
}
