/** Where webhooks are, and the types of events that can be asked for. */
import type { EventTypeList, WebhookEndpoint } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api, call } from '../../api/client.ts';

export const endpointsAddress = '/webhooks/v1/endpoints';
export const deliveriesAddress = '/webhooks/v1/deliveries';
/** An organisation has fifty at most: they fit one page. */
const endpointsMost = 200;

/** They change with a release of the platform alone. */
export function useEventTypes() {
  return useQuery({
    queryKey: ['event-types'],
    queryFn: ({ signal }) => api.get<EventTypeList>('/events/v1/types', { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useEndpoints() {
  return useQuery({
    queryKey: ['endpoints'],
    queryFn: ({ signal }) =>
      api.get<{ items: WebhookEndpoint[] }>(endpointsAddress, {
        query: { limit: endpointsMost },
        signal,
      }),
  });
}

export type FoundEndpoint = { readonly endpoint: WebhookEndpoint; readonly etag: string };

export function useEndpoint(endpointId: string) {
  return useQuery({
    queryKey: ['endpoint', endpointId],
    queryFn: async ({ signal }): Promise<FoundEndpoint> => {
      const { body, headers } = await call<WebhookEndpoint>(
        'GET',
        `${endpointsAddress}/${endpointId}`,
        { signal },
      );
      return { endpoint: body, etag: headers.get('etag') ?? '*' };
    },
  });
}
