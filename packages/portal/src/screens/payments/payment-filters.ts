/** The filters of the list of payments: as the address has them, and as the search takes them. */
import type { Query } from '../../api/client.ts';
import { withInstants } from '../../filters/day-range-query.ts';
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

/** A reference holds no blank: what is copied with some around it is meant without. */
function reference(text: string | undefined): string | undefined {
  const withoutBlanks = text?.replaceAll(/\s/g, '').slice(0, referenceMost);
  return withoutBlanks === undefined || withoutBlanks === '' ? undefined : withoutBlanks;
}

/** As the search takes them. */
export function searchQuery({ text, ...rest }: PaymentFilters, formats: Formats): Query {
  return { ...withInstants(rest, formats), text: reference(text) };
}
