// Random amounts, without the amounts for which the acquirer simulator declines or faults.

/**
 * Returns an amount in minor units that the simulator approves, at most the given amount.
 * The simulator declines, leaves open or does not answer amounts that end in 9000 to 9099, and signs off after 9101.
 * Separate tests cover these amounts.
 *
 * @example plainAmount(19_068); // 18_868
 */
export function plainAmount(amount: number): number {
  const hundreds = Math.floor(amount / 100) % 100;
  return hundreds === 90 || hundreds === 91 ? amount - 200 : amount;
}
