/** The services of one's own organisation: as declared, who uses them, how their server answers. */
import type { Service, ServiceCalls } from '@switchyard/contract';
import { useQueries, useQuery } from '@tanstack/react-query';
import { api, call } from '../../api/client.ts';
import { useSession } from '../../session/use-session.ts';
import { catalogue, readSome } from '../services/service-queries.ts';

/** What a change makes old. */
export const ownKey = ['own-services'] as const;
const lookAgainMs = 15_000;
/** Of so many services the list tells how they do. */
const lookedAtMost = 20;

export const addressOf = (serviceId: string): string => `${catalogue}/services/${serviceId}`;

export function useOwnServices() {
  const { organizationId } = useSession();
  return useQuery({
    queryKey: [...ownKey, 'list'],
    queryFn: ({ signal }) =>
      readSome<Service>(`${catalogue}/services`, { providerId: organizationId }, signal),
  });
}

export type Versioned = { readonly service: Service; readonly etag: string };

/** With the version that a change names: of two who change one, one does. */
export function useOwnService(serviceId: string) {
  return useQuery({
    queryKey: [...ownKey, 'one', serviceId],
    queryFn: async ({ signal }): Promise<Versioned> => {
      const { body, headers } = await call<Service>('GET', addressOf(serviceId), { signal });
      return { service: body, etag: headers.get('etag') ?? '' };
    },
  });
}

const callsQuery = (serviceId: string) => ({
  queryKey: [...ownKey, 'calls', serviceId],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    api.get<ServiceCalls>(`${addressOf(serviceId)}/calls`, { signal, isBackground: true }),
  refetchInterval: lookAgainMs,
});

export function useCalls(serviceId: string) {
  return useQuery(callsQuery(serviceId));
}

/** How the servers of some services do; those without a server are not asked about. */
export function useHealth(
  services: readonly Service[],
): ReadonlyMap<string, ServiceCalls['status']> {
  const checkedServices = services
    .filter(({ spiUrl, status }) => spiUrl !== undefined && status !== 'Draft')
    .slice(0, lookedAtMost);
  const results = useQueries({ queries: checkedServices.map(({ serviceId }) => callsQuery(serviceId)) });
  return new Map(
    results.flatMap(({ data }) =>
      data === undefined ? [] : [[data.serviceId, data.status] as const],
    ),
  );
}
