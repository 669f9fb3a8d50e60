/** Reads the OpenAPI document of the running platform. */
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { type ApiReference, type OpenApi, parseOperations } from './parse-openapi.ts';

export function useOpenApi() {
  return useQuery({
    queryKey: ['openapi'],
    queryFn: async ({ signal }): Promise<ApiReference> => {
      const document = await api.get<OpenApi>('/openapi.json', { signal });
      return { document, operations: parseOperations(document) };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}
