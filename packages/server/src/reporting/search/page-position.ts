// The position of a payment at which one page of the search ends, and its text in a cursor.

/** The end of a page, after which the next page begins. */
export type Place = { readonly createdAt: string; readonly paymentId: string };

export type Cut = {
  readonly isAscending: boolean;
  readonly after: Place | undefined;
  readonly limit: number;
};

export const writePlace = ({ createdAt, paymentId }: Place): string => `${createdAt}|${paymentId}`;

/** Parses a position that `writePlace` has written. */
export function readPlace(text: string | undefined): Place | undefined {
  const [createdAt, paymentId] = text?.split('|') ?? [];
  return createdAt === undefined || paymentId === undefined ? undefined : { createdAt, paymentId };
}
