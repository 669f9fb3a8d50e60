/** The places of the merchant where this page can stand in for a terminal. */
import type { PortalTerminalList } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';

const devicesMost = 200;

export type Choice = { readonly value: string; readonly label: string };

export function useDevices() {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['portal-terminals'],
    queryFn: () =>
      api.get<PortalTerminalList>('/portal/terminals', { query: { limit: devicesMost } }),
  });
  const choices: readonly Choice[] = (data?.items ?? []).map(({ deviceId, name }) => ({
    value: deviceId,
    label: name,
  }));
  return { choices, error, isPending, refetch };
}
