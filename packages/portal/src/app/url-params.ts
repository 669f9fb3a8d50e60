/** A part of the address, `$transactionId`, and whatever is typed behind the question mark. */
import { useParams, useSearch } from '@tanstack/react-router';
import { useRef } from 'react';

/** A screen that is being left may be drawn once more, when its address is gone already. */
const leaving = { strict: false, shouldThrow: false } as const;

/** While the screen is left it keeps what it had. */
function useLast<Value>(value: Value | undefined, first: Value): Value {
  const last = useRef(first);
  if (value !== undefined) last.current = value;
  return last.current;
}

export function useParam(name: string): string {
  const params = useParams(leaving) as Readonly<Record<string, string>> | undefined;
  return useLast(params?.[name], '');
}

const noParams: Readonly<Record<string, string>> = {};

export function useTexts(): Readonly<Record<string, string>> {
  return useLast(useSearch(leaving) as Readonly<Record<string, string>> | undefined, noParams);
}
