/** Reads the event feed backwards, newest first. */
import type { EventList, FeedItem } from '@switchyard/contract';
import { api, type Query } from '../../api/client.ts';
import type { ReadPage } from '../../table/row-store.ts';

export const feedUrl = '/events/v1';
const pageMost = 200;

export const readNewestEvents =
  (query: Query): ReadPage<FeedItem> =>
  async (cursor, signal) => {
    const { items, nextBefore } = await api.get<EventList>(feedUrl, {
      query: { ...query, before: cursor ?? 0, limit: pageMost },
      signal,
    });
    return { items, nextCursor: nextBefore === undefined ? null : String(nextBefore) };
  };

/** Returns undefined if the feed no longer or not yet contains the event. */
export async function readEvent(
  position: number,
  signal: AbortSignal | undefined,
): Promise<FeedItem | undefined> {
  const { items } = await api.get<EventList>(feedUrl, {
    query: { before: position + 1, limit: 1 },
    signal,
  });
  return items.find((item) => item.position === position);
}

/** The path of the screen for the object of an event. */
export function subjectPath({ type, data }: Pick<FeedItem, 'type' | 'data'>): string | undefined {
  const text = (name: string) => {
    const value = data[name];
    return typeof value === 'string' ? value : undefined;
  };
  const payment = text('transactionId') ?? text('qrTransactionId');
  if (payment !== undefined) return `/payments/${payment}`;
  const hardware = type.startsWith('device.') ? text('physicalDeviceId') : undefined;
  return hardware === undefined ? undefined : `/devices/${hardware}`;
}

/** The members that identify an event in a list. */
const telling = ['clientTransactionId', 'name', 'tsn', 'url', 'clientId', 'state', 'status'];

/** @param money formats an amount in minor units */
export function eventSummary(
  { data }: Pick<FeedItem, 'data'>,
  money: (amount: number, currency: string) => string,
): string {
  const { amount = data['saleAmount'], currency } = data;
  const texts = telling
    .map((name) => data[name])
    .filter((value): value is string => typeof value === 'string');
  const isMoney = typeof amount === 'number' && typeof currency === 'string';
  return [...texts, ...(isMoney ? [money(amount, currency)] : [])].join(' · ');
}
