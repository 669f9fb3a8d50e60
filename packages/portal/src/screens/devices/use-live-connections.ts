/** The live presence of the devices of an organisation, a merchant or a store. */
import type { ConnectedDevice, DeviceCounts } from '@switchyard/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { Page as RowsPage } from '../../table/row-store.ts';
import { addresses } from '../estate/entity-kinds.ts';
import { type Live, readLive, type Within } from './live-connections.ts';

export const askAgainMs = 10_000;

export function useLive(within: Within) {
  const client = useQueryClient();
  const queryKey = ['fleet-live', within.merchantId, within.storeId];
  return useQuery({
    queryKey,
    queryFn: ({ signal }) => {
      const options = { signal, isBackground: true } as const;
      return readLive(
        {
          counts: () =>
            api.get<DeviceCounts>(addresses.deviceCounts, { ...options, query: within }),
          changes: (changedSince, cursor) =>
            api.get<RowsPage<ConnectedDevice>>(addresses.presence, {
              ...options,
              query: { ...within, changedSince, cursor, limit: 200 },
            }),
        },
        client.getQueryData<Live>(queryKey),
      );
    },
    refetchInterval: askAgainMs,
    // What was seen before one came back is too old to go on from.
    gcTime: 0,
  });
}
