/** How an acquirer link stands, as one word: the worst of what is known of it. */
import type { AcquirerLink, AcquirerLinkStateList } from '@switchyard/contract';

export type LinkFacts = AcquirerLinkStateList['items'][number];
export type LinkState =
  | 'Disabled'
  | 'PendingApproval'
  | 'Unknown'
  | 'Faulty'
  | 'Unavailable'
  | 'Alarm'
  | 'Available';

/** @param facts nothing where the platform has not opened it, or does not tell */
export function stateOf(
  { status, approval }: Pick<AcquirerLink, 'status' | 'approval'>,
  facts: LinkFacts | undefined,
): LinkState {
  if (status === 'Disabled') return 'Disabled';
  if (approval === 'PendingApproval') return 'PendingApproval';
  if (facts === undefined) return 'Unknown';
  if ((facts.faults?.length ?? 0) > 0) return 'Faulty';
  if (facts.alarm) return 'Alarm';
  return facts.available ? 'Available' : 'Unavailable';
}

export type LinkSums = {
  readonly links: number;
  readonly available: number;
  readonly waiting: number;
  readonly alarms: number;
  readonly faulty: number;
};

export function sumsOf(items: readonly LinkFacts[]): LinkSums {
  const sum = (valueOf: (facts: LinkFacts) => number) =>
    items.reduce((total, facts) => total + valueOf(facts), 0);
  return {
    links: items.length,
    available: sum(({ available }) => (available ? 1 : 0)),
    waiting: sum(({ queue }) => queue.length),
    alarms: sum(({ queue }) => queue.alarms),
    faulty: sum(({ faults = [] }) => (faults.length > 0 ? 1 : 0)),
  };
}
