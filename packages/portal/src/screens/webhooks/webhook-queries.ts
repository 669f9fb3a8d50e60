/** Queries of webhook endpoints and event types. */
import type { EventTypeList, WebhookEndpoint } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api, callApi } from '../../api/client.ts';

export const endpointsUrl = '/webhooks/v1/endpoints';
export const deliveriesUrl = '/webhooks/v1/deliveries';
/** An organisation has at most fifty endpoints, so one page contains all. */
const endpointsMost = 200;

/** The list changes only with a new release of the platform. */
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
      api.get<{ items: WebhookEndpoint[] }>(endpointsUrl, {
        query: { limit: endpointsMost },
        signal,
      }),
  });
}

export type LoadedEndpoint = { readonly endpoint: WebhookEndpoint; readonly etag: string };

export function useEndpoint(endpointId: string) {
  return useQuery({
    queryKey: ['endpoint', endpointId],
    queryFn: async ({ signal }): Promise<LoadedEndpoint> => {
      const { body, headers } = await callApi<WebhookEndpoint>(
        'GET',
        `${endpointsUrl}/${endpointId}`,
        { signal },
      );
      return { endpoint: body, etag: headers.get('etag') ?? '*' };
    },
  });
}
