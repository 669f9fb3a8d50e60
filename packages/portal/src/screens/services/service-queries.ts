/** The catalogue as an acquirer or a merchant reads it: services, offers, and what is active where. */
import type {
  Service,
  ServiceActivation,
  ServicePackage,
  ServicePlace,
  ServiceStateList,
  Subscription,
} from '@switchyard/contract';
import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, type Query } from '../../api/client.ts';
import { useCan, useSession } from '../../session/use-session.ts';
import type { Page as RowsPage } from '../../table/row-store.ts';

export const catalogue = '/service-catalog/v1';
/** What a change makes old. */
export const servicesKey = ['services'] as const;

const pageLimit = 200;
/** A catalogue is small; who has more of them finds the rest by a filter. */
const pagesMost = 5;
const askAgainMs = 3_000;
const decidedSoonMs = 1_000;

export type Some<Item> = { readonly items: readonly Item[]; readonly hasMore: boolean };

/** A few pages in one go. */
export async function readSome<Item>(
  path: string,
  query: Query,
  signal: AbortSignal,
): Promise<Some<Item>> {
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
    queryFn: ({ signal }) => readSome<Service>(`${catalogue}/services`, query, signal),
  });
}

export function useService(serviceId: string) {
  return useQuery({
    queryKey: [...servicesKey, 'one', serviceId],
    queryFn: ({ signal }) => api.get<Service>(`${catalogue}/services/${serviceId}`, { signal }),
  });
}

export type Offers = {
  readonly packages: readonly ServicePackage[];
  readonly subscriptions: readonly Subscription[];
};

/** Packages and subscriptions are the organisation's. */
export function useOffers() {
  const mayRead = useCan('sub.read');
  return useQuery({
    queryKey: [...servicesKey, 'offers'],
    enabled: mayRead,
    queryFn: async ({ signal }): Promise<Offers> => {
      const [packages, subscriptions] = await Promise.all([
        readSome<ServicePackage>(`${catalogue}/packages`, {}, signal),
        readSome<Subscription>(`${catalogue}/subscriptions`, {}, signal),
      ]);
      return { packages: packages.items, subscriptions: subscriptions.items };
    },
  });
}

/** What was decided at the caller's own level: of the organisation, or of the merchant. */
export function useOwnActivations() {
  const { merchantId } = useSession();
  const mayRead = useCan('sub.read', 'conf.read');
  const level = merchantId === undefined ? 'Organization' : 'Merchant';
  return useQuery({
    queryKey: [...servicesKey, 'activations', level],
    enabled: mayRead,
    queryFn: ({ signal }) =>
      readSome<ServiceActivation>(`${catalogue}/activations`, { level }, signal),
    // Until its provider has answered.
    refetchInterval: ({ state }) =>
      state.data?.items.some(({ status }) => status === 'Requested') === true ? askAgainMs : false,
  });
}

const placesQuery = (serviceId: string, under: Query) => ({
  queryKey: [...servicesKey, 'places', serviceId, under],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    api.get<ServiceStateList>(`${catalogue}/services/${serviceId}/places`, {
      query: { ...under, limit: 1 },
      signal,
    }),
});

export function usePlaces(serviceId: string, under: Query) {
  return useQuery(placesQuery(serviceId, under));
}

/** How services stand for the merchant that the user belongs to; for the organisation nothing is asked. */
export function useOwnPlaces(services: readonly Service[]): ReadonlyMap<string, ServicePlace> {
  const { merchantId } = useSession();
  const checkedServices = merchantId === undefined ? [] : services;
  const results = useQueries({ queries: checkedServices.map(({ serviceId }) => placesQuery(serviceId, {})) });
  return new Map(
    results.flatMap(({ data }, at) => {
      const ownPlace = data?.items.find(({ entityId }) => entityId === merchantId);
      const serviceId = checkedServices[at]?.serviceId;
      return ownPlace === undefined || serviceId === undefined ? [] : [[serviceId, ownPlace] as const];
    }),
  );
}

/** Looks at an activation that its provider is asked about, until it has answered. */
export function useDecided(onDecided: () => void): (activation: ServiceActivation) => void {
  const client = useQueryClient();
  const [pending, setPending] = useState<ServiceActivation | undefined>(undefined);
  const { data } = useQuery({
    queryKey: ['service-activation', pending?.activationId, pending?.requestedAt],
    enabled: pending !== undefined,
    queryFn: ({ signal }) =>
      api.get<ServiceActivation>(`${catalogue}/activations/${pending?.activationId}`, {
        signal,
        isBackground: true,
      }),
    refetchInterval: ({ state }) =>
      state.data === undefined || state.data.status === 'Requested' ? decidedSoonMs : false,
  });
  const isDecided = pending !== undefined && data !== undefined && data.status !== 'Requested';
  // biome-ignore lint/correctness/useExhaustiveDependencies: told once, when it is so
  useEffect(() => {
    if (!isDecided) return;
    setPending(undefined);
    onDecided();
    void client.invalidateQueries({ queryKey: servicesKey });
  }, [isDecided]);
  return (activation) => setPending(activation.status === 'Requested' ? activation : undefined);
}
