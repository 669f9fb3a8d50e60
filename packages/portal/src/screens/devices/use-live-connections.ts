/** The live connection states of the devices of an organisation, a merchant or a store. */
import type { ConnectedDevice, DeviceCounts } from '@switchyard/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { RowsPage } from '../../table/row-store.ts';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { type DeviceScope, type LiveConnections, readLiveConnections } from './live-connections.ts';

export const pollMs = 10_000;

export function useLiveConnections(within: DeviceScope) {
  const client = useQueryClient();
  const queryKey = ['fleet-live', within.merchantId, within.storeId];
  return useQuery({
    queryKey,
    queryFn: ({ signal }) => {
      const options = { signal, isBackground: true } as const;
      return readLiveConnections(
        {
          counts: () =>
            api.get<DeviceCounts>(estateApiUrls.deviceCounts, { ...options, query: within }),
          changes: (changedSince, cursor) =>
            api.get<RowsPage<ConnectedDevice>>(estateApiUrls.presence, {
              ...options,
              query: { ...within, changedSince, cursor, limit: 200 },
            }),
        },
        client.getQueryData<LiveConnections>(queryKey),
      );
    },
    refetchInterval: pollMs,
    // Cached states are too old after the user returns.
    gcTime: 0,
  });
}
