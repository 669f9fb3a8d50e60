/** Queries of the service catalogue: services, packages, subscriptions and activations. */
import type {
  Service,
  ServiceActivation,
  ServicePackage,
  ServicePlace,
  ServiceStateList,
  Subscription,
} from '@switchyard/contract';
import { useQueries, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, type Query } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import type { RowsPage } from '../../table/row-store.ts';

export const catalogUrl = '/service-catalog/v1';
/** `reloadData('services')` reloads all of these queries. */
const servicesKey = ['services'] as const;

const pageLimit = 200;
/** The catalogue is small; filters find services beyond these pages. */
const pagesMost = 5;
const askAgainMs = 3_000;
const decidedSoonMs = 1_000;

export type PageItems<Item> = { readonly items: readonly Item[]; readonly hasMore: boolean };

/** Reads up to a fixed number of pages. */
export async function readPages<Item>(
  path: string,
  query: Query,
  signal: AbortSignal,
): Promise<PageItems<Item>> {
  const items: Item[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < pagesMost; page += 1) {
    const pageQuery = { ...query, cursor, limit: pageLimit };
    const pageRows: RowsPage<Item> = await api.get(path, { query: pageQuery, signal });
    items.push(...pageRows.items);
    cursor = pageRows.nextCursor;
    if (cursor === null) break;
  }
  return { items, hasMore: cursor !== null };
}

export function useServices(query: Query) {
  return useQuery({
    queryKey: [...servicesKey, 'list', query],
    queryFn: ({ signal }) => readPages<Service>(`${catalogUrl}/services`, query, signal),
  });
}

export function useService(serviceId: string) {
  return useQuery({
    queryKey: [...servicesKey, 'one', serviceId],
    queryFn: ({ signal }) => api.get<Service>(`${catalogUrl}/services/${serviceId}`, { signal }),
  });
}

export type PackageOffers = {
  readonly packages: readonly ServicePackage[];
  readonly subscriptions: readonly Subscription[];
};

/** Packages and subscriptions belong to the organisation. */
export function useOffers() {
  const mayRead = useHasPermission('sub.read');
  return useQuery({
    queryKey: [...servicesKey, 'offers'],
    enabled: mayRead,
    queryFn: async ({ signal }): Promise<PackageOffers> => {
      const [packages, subscriptions] = await Promise.all([
        readPages<ServicePackage>(`${catalogUrl}/packages`, {}, signal),
        readPages<Subscription>(`${catalogUrl}/subscriptions`, {}, signal),
      ]);
      return { packages: packages.items, subscriptions: subscriptions.items };
    },
  });
}

/** The activations at the user's own level: organisation or merchant. */
export function useOwnActivations() {
  const { merchantId } = useSession();
  const mayRead = useHasPermission('sub.read', 'conf.read');
  const level = merchantId === undefined ? 'Organization' : 'Merchant';
  return useQuery({
    queryKey: [...servicesKey, 'activations', level],
    enabled: mayRead,
    queryFn: ({ signal }) =>
      readPages<ServiceActivation>(`${catalogUrl}/activations`, { level }, signal),
    // Polls until the provider has answered.
    refetchInterval: ({ state }) =>
      state.data?.items.some(({ status }) => status === 'Requested') === true ? askAgainMs : false,
  });
}

const placesQuery = (serviceId: string, under: Query) => ({
  queryKey: [...servicesKey, 'places', serviceId, under],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    api.get<ServiceStateList>(`${catalogUrl}/services/${serviceId}/states`, {
      query: { ...under, limit: 1 },
      signal,
    }),
});

export function useServicePlaces(serviceId: string, under: Query) {
  return useQuery(placesQuery(serviceId, under));
}

/**
 * The activation status of services for the user's merchant; empty for users of the organisation.
 */
export function useMerchantServicePlaces(
  services: readonly Service[],
): ReadonlyMap<string, ServicePlace> {
  const { merchantId } = useSession();
  const checkedServices = merchantId === undefined ? [] : services;
  const results = useQueries({
    queries: checkedServices.map(({ serviceId }) => placesQuery(serviceId, {})),
  });
  return new Map(
    results.flatMap(({ data }, at) => {
      const ownPlace = data?.items.find(({ entityId }) => entityId === merchantId);
      const serviceId = checkedServices[at]?.serviceId;
      return ownPlace === undefined || serviceId === undefined
        ? []
        : [[serviceId, ownPlace] as const];
    }),
  );
}

/** Polls a requested activation until the provider has answered. */
export function useActivationDecision(): (activation: ServiceActivation) => void {
  const [pending, setPending] = useState<ServiceActivation | undefined>(undefined);
  const { data } = useQuery({
    queryKey: ['service-activation', pending?.activationId, pending?.requestedAt],
    enabled: pending !== undefined,
    queryFn: ({ signal }) =>
      api.get<ServiceActivation>(`${catalogUrl}/activations/${pending?.activationId}`, {
        signal,
        isBackground: true,
      }),
    refetchInterval: ({ state }) =>
      state.data === undefined || state.data.status === 'Requested' ? decidedSoonMs : false,
  });
  const isDecided = pending !== undefined && data !== undefined && data.status !== 'Requested';
  useEffect(() => {
    if (!isDecided) return;
    setPending(undefined);
    reloadData('service-places', 'services');
  }, [isDecided]);
  return (activation) => setPending(activation.status === 'Requested' ? activation : undefined);
}
