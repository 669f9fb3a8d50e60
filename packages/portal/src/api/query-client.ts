/** The query client: how long responses are cached, and which requests are retried. */
import { QueryClient } from '@tanstack/react-query';
import { ConnectionError, isProblem } from './api-errors.ts';

const maxAttempts = 3;
const firstPauseMs = 500;
const longestPauseMs = 8_000;
const freshMs = 15_000;
const cacheMs = 5 * 60_000;

/** Only queries are retried, and only if a retry can succeed. Mutations are never retried. */
export function shouldRetry(failures: number, fault: unknown): boolean {
  if (failures >= maxAttempts - 1) return false;
  return fault instanceof ConnectionError || (isProblem(fault) && fault.problem.retryable);
}

export function retryDelayMs(failures: number, fault: unknown): number {
  const retryAfterMs = isProblem(fault) ? (fault.problem.retryAfterMs ?? 0) : 0;
  return Math.max(retryAfterMs, Math.min(firstPauseMs * 2 ** failures, longestPauseMs));
}

export const queryClient: QueryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: shouldRetry,
      retryDelay: retryDelayMs,
      staleTime: freshMs,
      gcTime: cacheMs,
      networkMode: 'always',
    },
    mutations: { retry: false, networkMode: 'always' },
  },
});
