// The position of a payment at which one page of the search ends, and its text in a cursor.

/** The end of a page, after which the next page begins. */
export type PagePosition = { readonly createdAt: string; readonly paymentId: string };

export type SearchPageRequest = {
  readonly isAscending: boolean;
  readonly after: PagePosition | undefined;
  readonly limit: number;
};

export const formatPagePosition = ({ createdAt, paymentId }: PagePosition): string =>
  `${createdAt}|${paymentId}`;

/** Parses a position that `formatPagePosition` has written. */
export function parsePagePosition(text: string | undefined): PagePosition | undefined {
  const [createdAt, paymentId] = text?.split('|') ?? [];
  return createdAt === undefined || paymentId === undefined ? undefined : { createdAt, paymentId };
}
