/** How answers are kept and asked for again. */
import { QueryClient } from '@tanstack/react-query';
import { ConnectionError, isProblem } from './api-errors.ts';

const attemptsMost = 3;
const firstPauseMs = 500;
const longestPauseMs = 8_000;
const freshMs = 15_000;
const cacheMs = 5 * 60_000;

/** Reading is repeated where that may help; a change never by itself. */
export function mayRetry(failures: number, fault: unknown): boolean {
  if (failures >= attemptsMost - 1) return false;
  return fault instanceof ConnectionError || (isProblem(fault) && fault.problem.retryable);
}

export function pauseMs(failures: number, fault: unknown): number {
  const retryAfterMs = isProblem(fault) ? (fault.problem.retryAfterMs ?? 0) : 0;
  return Math.max(retryAfterMs, Math.min(firstPauseMs * 2 ** failures, longestPauseMs));
}

export const queryClient: QueryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: mayRetry,
      retryDelay: pauseMs,
      staleTime: freshMs,
      gcTime: cacheMs,
      networkMode: 'always',
    },
    mutations: { retry: false, networkMode: 'always' },
  },
});
