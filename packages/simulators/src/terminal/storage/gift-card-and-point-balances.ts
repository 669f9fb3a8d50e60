// Balances of gift cards and points. The simulator stores them itself, because the platform has no such accounts.

/** Minor units on gift cards and points of customers, by their number. */
export type AccountBalances = {
  readonly giftCards: Readonly<Record<string, number>>;
  readonly points: Readonly<Record<string, number>>;
};

export const noBalances: AccountBalances = { giftCards: {}, points: {} };

/** Limit of accounts of each kind. */
const accountsMax = 1_000;
const balanceMax = 999_999_999;

/** The balances after a change; undefined where the change is not possible. */
export function changeBalance(
  accounts: AccountBalances,
  kind: keyof AccountBalances,
  number: string,
  difference: number,
): AccountBalances | undefined {
  const balances = accounts[kind];
  const isNew = !Object.hasOwn(balances, number);
  const balance = (isNew ? 0 : (balances[number] ?? 0)) + difference;
  if (balance < 0 || balance > balanceMax) return undefined;
  if (isNew && Object.keys(balances).length >= accountsMax) return undefined;
  return { ...accounts, [kind]: { ...balances, [number]: balance } };
}

export function balanceOf(
  accounts: AccountBalances,
  kind: keyof AccountBalances,
  number: string,
): number | undefined {
  const balances = accounts[kind];
  return Object.hasOwn(balances, number) ? balances[number] : undefined;
}
