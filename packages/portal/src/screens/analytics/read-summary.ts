/** Reads the payment summaries of the reporting API. */
import type { Summary, SummaryLine } from '@switchyard/contract';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, type Query } from '../../api/client.ts';

export type Grouping = Summary['groupBy'];
export type PaymentFigures = Omit<
  SummaryLine,
  'day' | 'hour' | 'merchantId' | 'storeId' | 'deviceId' | 'scheme' | 'responseCategory'
>;

const linesMost = 200;
/** Two pages contain more than a year of days. */
const pagesMost = 3;

async function readSummary(query: Query, signal: AbortSignal): Promise<Summary> {
  const read = (cursor: string | undefined) =>
    api.get<Summary>('/reporting/v1/summary', {
      query: { ...query, limit: linesMost, cursor },
      signal,
    });
  let page = await read(undefined);
  const items = [...page.items];
  for (let pages = 1; page.nextCursor !== null && pages < pagesMost; pages += 1) {
    page = await read(page.nextCursor);
    items.push(...page.items);
  }
  return { ...page, items };
}

export function useSummary(query: Query, isWanted = true) {
  return useQuery({
    queryKey: ['summary', query],
    queryFn: ({ signal }) => readSummary(query, signal),
    placeholderData: keepPreviousData,
    enabled: isWanted,
  });
}

/** The amount in minor units of one currency; zero if the line has no payment in it. */
export function minorAmountOf(
  line: PaymentFigures | undefined,
  currency: string,
  member: 'captured' | 'refunded' | 'net' | 'authorized',
): bigint {
  const amount = line?.amounts.find((each) => each.currency === currency);
  return BigInt(amount?.[member] ?? '0');
}
