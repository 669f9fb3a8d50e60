/** The feed as a list: looked through from its newest end, a page at a time. */
import type { EventList, FeedItem } from '@switchyard/contract';
import { api, type Query } from '../../api/client.ts';
import type { Page } from '../../table/row-store.ts';

export const feedAddress = '/events/v1';
const pageMost = 200;

export async function readBack(
  query: Query,
  cursor: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Page<FeedItem>> {
  const { items, nextBefore } = await api.get<EventList>(feedAddress, {
    query: { ...query, before: cursor ?? 0, limit: pageMost },
    signal,
  });
  return { items, nextCursor: nextBefore === undefined ? null : String(nextBefore) };
}

/** Undefined where the feed has forgotten it, or has not come so far. */
export async function readEvent(
  position: number,
  signal: AbortSignal | undefined,
): Promise<FeedItem | undefined> {
  const { items } = await api.get<EventList>(feedAddress, {
    query: { before: position + 1, limit: 1 },
    signal,
  });
  return items.find((item) => item.position === position);
}

/** What an event is about, where a screen shows it. */
export function subjectOf({ type, data }: Pick<FeedItem, 'type' | 'data'>): string | undefined {
  const text = (name: string) => {
    const value = data[name];
    return typeof value === 'string' ? value : undefined;
  };
  const payment = text('transactionId') ?? text('qrTransactionId');
  if (payment !== undefined) return `/payments/${payment}`;
  const hardware = type.startsWith('device.') ? text('physicalDeviceId') : undefined;
  return hardware === undefined ? undefined : `/devices/${hardware}`;
}

/** The few members that tell one event from another at a glance. */
const telling = ['clientTransactionId', 'name', 'tsn', 'url', 'clientId', 'state', 'status'];

/** @param money writes an amount in minor units */
export function gistOf(
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
