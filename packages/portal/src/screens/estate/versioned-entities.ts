/** Things of the estate as they are read, with the version that a change has to name. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import { isProblem } from '../../api/api-errors.ts';
import { api, call } from '../../api/client.ts';
import { forgetLists } from '../../table/row-store-cache.ts';

export type Versioned<Body> = { readonly body: Body; readonly etag: string };

export function useVersioned<Body>(address: string, isWanted = true) {
  return useQuery({
    queryKey: ['estate', address],
    queryFn: async ({ signal }): Promise<Versioned<Body>> => {
      const { body, headers } = await call<Body>('GET', address, { signal });
      return { body, etag: headers.get('etag') ?? '' };
    },
    enabled: isWanted,
  });
}

/** Nobody else's change is written over: whoever was slower is told so. */
export function replace<Body>(address: string, etag: string, body: unknown): Promise<Body> {
  return api.put<Body>(address, { body, headers: { 'if-match': etag } });
}

export const isOutdated = (fault: unknown): boolean => isProblem(fault, 'precondition_failed');

let changes = 0;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Part of the key of each list here: a change makes another list of it, which is read anew. */
export function useEstateChanges(): number {
  return useSyncExternalStore(subscribe, () => changes);
}

/** To be called after each change: names, lists and pages are read anew. */
export function useEstateChanged(): () => void {
  const client = useQueryClient();
  return useCallback(() => {
    changes += 1;
    forgetLists('["estate"');
    for (const queryKey of [['estate'], ['names'], ['name'], ['has-one']]) {
      void client.invalidateQueries({ queryKey });
    }
    for (const listener of listeners) listener();
  }, [client]);
}
