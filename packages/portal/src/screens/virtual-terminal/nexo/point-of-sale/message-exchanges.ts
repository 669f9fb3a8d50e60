/** The exchanged messages: each request with its response. */
import type { Header } from '@switchyard/nexo';

export type MessageExchange = {
  readonly number: number;
  readonly category: Header['MessageCategory'];
  readonly request: string;
  readonly status: 'Waiting' | 'Answered' | 'Taken' | 'NotSent' | 'Unknown';
  readonly response?: string;
  readonly fault?: unknown;
  /** The result code of the response. */
  readonly result?: string | undefined;
  readonly condition?: string | undefined;
  readonly tookMs?: number;
};

export const maxExchanges = 30;

/** Adds the newest exchange first and drops the oldest. */
export function addExchange(
  all: readonly MessageExchange[],
  next: MessageExchange,
): readonly MessageExchange[] {
  return [next, ...all].slice(0, maxExchanges);
}

export function completeExchange(
  all: readonly MessageExchange[],
  number: number,
  end: Partial<MessageExchange>,
): readonly MessageExchange[] {
  return all.map((each) => (each.number === number ? { ...each, ...end } : each));
}
