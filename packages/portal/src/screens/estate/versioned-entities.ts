/** Loads entities with their ETag, which an update must send. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import { isProblem } from '../../api/api-errors.ts';
import { api, callApi } from '../../api/client.ts';
import { discardLists } from '../../table/row-store-cache.ts';

export type Versioned<Body> = { readonly body: Body; readonly etag: string };

export function useVersionedEntity<Body>(address: string, isWanted = true) {
  return useQuery({
    queryKey: ['estate', address],
    queryFn: async ({ signal }): Promise<Versioned<Body>> => {
      const { body, headers } = await callApi<Body>('GET', address, { signal });
      return { body, etag: headers.get('etag') ?? '' };
    },
    enabled: isWanted,
  });
}

/** Replaces an entity only if its version is unchanged; otherwise the request fails with 412. */
export function replaceEntity<Body>(address: string, etag: string, body: unknown): Promise<Body> {
  return api.put<Body>(address, { body, headers: { 'if-match': etag } });
}

export const isVersionConflict = (fault: unknown): boolean =>
  isProblem(fault, 'precondition_failed');

let changes = 0;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Part of each list key: a change gives the list a new key, so it reloads. */
export function useEstateChangeCount(): number {
  return useSyncExternalStore(subscribe, () => changes);
}

/** Call this after each change, so that names, lists and pages reload. */
export function useReloadEstate(): () => void {
  const client = useQueryClient();
  return useCallback(() => {
    changes += 1;
    discardLists('["estate"');
    for (const queryKey of [['estate'], ['names'], ['name'], ['has-one']]) {
      void client.invalidateQueries({ queryKey });
    }
    for (const listener of listeners) listener();
  }, [client]);
}
