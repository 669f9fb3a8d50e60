/** The filters of the payment list, in the page address and in the search request. */
import type { Query } from '../../api/client.ts';
import { withDayRange } from '../../filters/day-range-query.ts';
import type { Formats } from '../../session/locale-formats.ts';

export const filterNames = [
  'text',
  'from',
  'to',
  'state',
  'kind',
  'scheme',
  'currency',
  'merchantId',
  'storeId',
  'deviceId',
  'responseCategory',
  'amountMin',
  'amountMax',
] as const;

export type PaymentFilters = Readonly<Partial<Record<string, string>>>;

const referenceMost = 64;

/** A reference contains no spaces, so copied spaces are removed. */
function reference(text: string | undefined): string | undefined {
  const withoutBlanks = text?.replaceAll(/\s/g, '').slice(0, referenceMost);
  return withoutBlanks === undefined || withoutBlanks === '' ? undefined : withoutBlanks;
}

/** The filters as parameters of the search request. */
export function paymentSearchQuery({ text, ...rest }: PaymentFilters, formats: Formats): Query {
  return { ...withDayRange(rest, formats), text: reference(text) };
}
