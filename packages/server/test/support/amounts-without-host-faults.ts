// Random amounts, without the amounts for which the acquirer simulator declines or faults.

/**
 * Returns an amount in minor units that the simulator approves, at most the given amount.
 * The simulator declines, leaves open or does not answer amounts that end in 9000 to 9099. Separate
 * tests cover these amounts.
 *
 * @example plainAmount(19_068); // 18_968
 */
export const plainAmount = (amount: number): number =>
  Math.floor(amount / 100) % 100 === 90 ? amount - 100 : amount;
