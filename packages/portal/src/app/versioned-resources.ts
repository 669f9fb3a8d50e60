/** Loads resources with their ETag, which an update must send. */
import { useQuery } from '@tanstack/react-query';
import { isProblem } from '../api/api-errors.ts';
import { api, callApi } from '../api/client.ts';

export type Versioned<Body> = { readonly body: Body; readonly etag: string };

export async function readVersioned<Body>(
  path: string,
  signal?: AbortSignal,
): Promise<Versioned<Body>> {
  const { body, headers } = await callApi<Body>('GET', path, { signal });
  return { body, etag: headers.get('etag') ?? '' };
}

/** @param name `reloadData` reloads the queries of this name */
export function useVersioned<Body>(name: string, path: string) {
  return useQuery({
    queryKey: [name, path],
    queryFn: ({ signal }) => readVersioned<Body>(path, signal),
  });
}

/** Replaces a resource only if its version is unchanged; otherwise the request fails with 412. */
export function replaceVersioned<Body>(path: string, etag: string, body: unknown): Promise<Body> {
  return api.put<Body>(path, { body, headers: { 'if-match': etag } });
}

export const isVersionConflict = (fault: unknown): boolean =>
  isProblem(fault, 'precondition_failed');
