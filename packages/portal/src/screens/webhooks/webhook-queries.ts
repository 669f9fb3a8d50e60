/** Queries of webhook endpoints and event types. */
import type { EventTypeList, WebhookEndpoint } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useVersioned } from '../../app/versioned-resources.ts';

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

export function useEndpoint(endpointId: string) {
  return useVersioned<WebhookEndpoint>('endpoint', `${endpointsUrl}/${endpointId}`);
}

/** The update that changes only the status. */
export function statusUpdate(endpoint: WebhookEndpoint, status: WebhookEndpoint['status']) {
  const { url, eventTypes, merchantId, description } = endpoint;
  return { url, eventTypes, merchantId, description, status };
}
