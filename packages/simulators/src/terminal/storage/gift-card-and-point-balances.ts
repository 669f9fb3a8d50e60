// Gift cards and points: accounts that the simulator keeps itself, since the platform has none.

/** Minor units on gift cards and points of customers, by their number. */
export type AccountBalances = {
  readonly giftCards: Readonly<Record<string, number>>;
  readonly points: Readonly<Record<string, number>>;
};

export const noBalances: AccountBalances = { giftCards: {}, points: {} };

/** How many accounts of each kind there can be. */
const accountsMax = 1_000;
const balanceMax = 999_999_999;

/** What is left after a change; nothing where it cannot be done. */
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
