/** Queries for the provider's own services: declaration, customers and health. */
import type { Service, ServiceCalls } from '@switchyard/contract';
import { useQueries, useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useVersioned } from '../../app/versioned-resources.ts';
import { useSession } from '../../session/use-session.ts';
import { catalogUrl, readPages } from '../services/service-queries.ts';

/** `reloadData('own-services')` reloads all of these queries. */
export const ownServicesKey = ['own-services'] as const;
const lookAgainMs = 15_000;
/** The list shows the health of at most this number of services. */
const lookedAtMost = 20;

export const serviceUrl = (serviceId: string): string => `${catalogUrl}/services/${serviceId}`;

export function useOwnServices() {
  const { organizationId } = useSession();
  return useQuery({
    queryKey: [...ownServicesKey, 'list'],
    queryFn: ({ signal }) =>
      readPages<Service>(`${catalogUrl}/services`, { providerId: organizationId }, signal),
  });
}

export function useOwnService(serviceId: string) {
  return useVersioned<Service>(ownServicesKey[0], serviceUrl(serviceId));
}

const callsQuery = (serviceId: string) => ({
  queryKey: [...ownServicesKey, 'calls', serviceId],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    api.get<ServiceCalls>(`${serviceUrl(serviceId)}/calls`, { signal, isBackground: true }),
  refetchInterval: lookAgainMs,
});

export function useServiceCalls(serviceId: string) {
  return useQuery(callsQuery(serviceId));
}

/** The health of several services; services without a server are skipped. */
export function useServerHealth(
  services: readonly Service[],
): ReadonlyMap<string, ServiceCalls['status']> {
  const checkedServices = services
    .filter(({ spiUrl, status }) => spiUrl !== undefined && status !== 'Draft')
    .slice(0, lookedAtMost);
  const results = useQueries({
    queries: checkedServices.map(({ serviceId }) => callsQuery(serviceId)),
  });
  return new Map(
    results.flatMap(({ data }) =>
      data === undefined ? [] : [[data.serviceId, data.status] as const],
    ),
  );
}
