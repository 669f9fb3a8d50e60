// Gift cards and points: accounts that the simulator keeps itself, since the platform has none.

/** Minor units on gift cards and points of customers, by their number. */
export type Accounts = {
  readonly giftCards: Readonly<Record<string, number>>;
  readonly points: Readonly<Record<string, number>>;
};

export const noAccounts: Accounts = { giftCards: {}, points: {} };

/** How many accounts of each kind there can be. */
const accountsMax = 1_000;
const balanceMax = 999_999_999;

/** What is left after a change; nothing where it cannot be done. */
export function changed(
  accounts: Accounts,
  kind: keyof Accounts,
  number: string,
  by: number,
): Accounts | undefined {
  const held = accounts[kind];
  const isNew = !Object.hasOwn(held, number);
  const balance = (isNew ? 0 : (held[number] ?? 0)) + by;
  if (balance < 0 || balance > balanceMax) return undefined;
  if (isNew && Object.keys(held).length >= accountsMax) return undefined;
  return { ...accounts, [kind]: { ...held, [number]: balance } };
}

export function balanceOf(
  accounts: Accounts,
  kind: keyof Accounts,
  number: string,
): number | undefined {
  const held = accounts[kind];
  return Object.hasOwn(held, number) ? held[number] : undefined;
}
