/** What went between till and terminal, for people to read: each question with its answer. */
import type { Header } from '@switchyard/nexo';

export type Exchange = {
  readonly number: number;
  readonly category: Header['MessageCategory'];
  readonly request: string;
  readonly status: 'Waiting' | 'Answered' | 'Taken' | 'NotSent' | 'Unknown';
  readonly response?: string;
  readonly fault?: unknown;
  /** Of the answer, in the words of the standard. */
  readonly result?: string | undefined;
  readonly condition?: string | undefined;
  readonly tookMs?: number;
};

export const exchangesMost = 30;

/** The youngest first; the oldest give way. */
export function withExchange(all: readonly Exchange[], next: Exchange): readonly Exchange[] {
  return [next, ...all].slice(0, exchangesMost);
}

export function withEnd(
  all: readonly Exchange[],
  number: number,
  end: Partial<Exchange>,
): readonly Exchange[] {
  return all.map((each) => (each.number === number ? { ...each, ...end } : each));
}
