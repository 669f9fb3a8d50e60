/** The document of the running platform: what is tried here is what there is. */
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { type ApiReference, type OpenApi, operationsOf } from './parse-openapi.ts';

export function useOpenApi() {
  return useQuery({
    queryKey: ['openapi'],
    queryFn: async ({ signal }): Promise<ApiReference> => {
      const document = await api.get<OpenApi>('/openapi.json', { signal });
      return { document, operations: operationsOf(document) };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}
