/** Derives the status of an acquirer link: the worst known state. */
import type { AcquirerLink, AcquirerLinkStateList } from '@switchyard/contract';

export type LinkStateItem = AcquirerLinkStateList['items'][number];
export type LinkState =
  | 'Disabled'
  | 'PendingApproval'
  | 'Unknown'
  | 'Faulty'
  | 'Unavailable'
  | 'Alarm'
  | 'Available';

/** @param facts undefined if the platform has not opened the link or does not report it */
export function linkStateOf(
  { status, approval }: Pick<AcquirerLink, 'status' | 'approval'>,
  facts: LinkStateItem | undefined,
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

export function sumLinkStates(items: readonly LinkStateItem[]): LinkSums {
  const sum = (countOf: (facts: LinkStateItem) => number) =>
    items.reduce((total, facts) => total + countOf(facts), 0);
  return {
    links: items.length,
    available: sum(({ available }) => (available ? 1 : 0)),
    waiting: sum(({ queue }) => queue.length),
    alarms: sum(({ queue }) => queue.alarms),
    faulty: sum(({ faults = [] }) => (faults.length > 0 ? 1 : 0)),
  };
}
