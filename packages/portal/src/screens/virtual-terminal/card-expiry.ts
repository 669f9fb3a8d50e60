/** Until when the cards for tests are good, at a time in milliseconds: four years ahead, as a card of that day. */
export function expiryAt(atMs: number): { month: number; year: number; yymm: string } {
  const year = new Date(atMs).getUTCFullYear() + 4;
  return { month: 12, year, yymm: `${String(year).slice(-2)}12` };
}
