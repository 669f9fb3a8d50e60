/** The expiry date of test cards: four years after the given time. */
export function testCardExpiry(atMs: number): { month: number; year: number; yymm: string } {
  const year = new Date(atMs).getUTCFullYear() + 4;
  return { month: 12, year, yymm: `${String(year).slice(-2)}12` };
}
