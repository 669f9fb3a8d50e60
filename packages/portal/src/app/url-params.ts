/** Path parameters, such as `$transactionId`, and search parameters of the page address. */
import { useParams, useSearch } from '@tanstack/react-router';
import { useRef } from 'react';

/** React may render a screen once more after the router has left its route. */
const lenientOptions = { strict: false, shouldThrow: false } as const;

/** Keeps the last value while the router leaves the screen. */
function useLast<Value>(value: Value | undefined, first: Value): Value {
  const last = useRef(first);
  if (value !== undefined) last.current = value;
  return last.current;
}

export function usePathParam(name: string): string {
  const params = useParams(lenientOptions) as Readonly<Record<string, string>> | undefined;
  return useLast(params?.[name], '');
}

const noParams: Readonly<Record<string, string>> = {};

export function useSearchParams(): Readonly<Record<string, string>> {
  return useLast(
    useSearch(lenientOptions) as Readonly<Record<string, string>> | undefined,
    noParams,
  );
}
