/** The logical devices that the page can act as. */
import type { PortalTerminalList } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';

const devicesMost = 200;

export type DeviceOption = { readonly value: string; readonly label: string };

export function useTerminalDevices() {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['portal-terminals'],
    queryFn: () =>
      api.get<PortalTerminalList>('/portal/terminals', { query: { limit: devicesMost } }),
  });
  const choices: readonly DeviceOption[] = (data?.items ?? []).map(({ deviceId, name }) => ({
    value: deviceId,
    label: name,
  }));
  return { choices, error, isPending, refetch };
}
