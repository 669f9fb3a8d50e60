/** Selects the advice for an error code, and filters error codes. */
import type { ListedErrorCode } from '@switchyard/contract';

export type ErrorAdvice = 'readFirst' | 'later' | 'token' | 'right' | 'mend';

export function errorAdviceOf({
  status,
  retryable,
  outcome,
}: Pick<ListedErrorCode, 'status' | 'retryable' | 'outcome'>): ErrorAdvice {
  if (outcome === 'Unknown') return 'readFirst';
  if (retryable) return 'later';
  if (status === 401) return 'token';
  return status === 403 ? 'right' : 'mend';
}

export function matchesErrorFilters(
  { code, title, help, status, outcome }: ListedErrorCode,
  filters: Readonly<Partial<Record<'text' | 'status' | 'outcome', string>>>,
): boolean {
  const whole = `${code} ${title} ${help}`.toLowerCase();
  const words = (filters.text ?? '').toLowerCase().split(/\s+/);
  return (
    words.every((word) => whole.includes(word)) &&
    (filters.status === undefined || filters.status === String(status)) &&
    (filters.outcome === undefined || filters.outcome === outcome)
  );
}
