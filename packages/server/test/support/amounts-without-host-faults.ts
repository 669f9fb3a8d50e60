// Amounts made by chance, without those by which the acquirer's simulator does as it is asked.

/**
 * An amount in minor units that the simulator approves: those that end in 9000 to 9099 decline, stay open or are not
 * answered, and have tests of their own. Never more than what is given.
 *
 * @example plainAmount(19_068); // 18_968
 */
export const plainAmount = (amount: number): number =>
  Math.floor(amount / 100) % 100 === 90 ? amount - 100 : amount;
