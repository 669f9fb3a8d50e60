/** Polls the states of the acquirer links. */
import type { AcquirerLinkStateList } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import type { LinkStateItem } from './link-state.ts';

const askAgainMs = 10_000;

async function read(signal: AbortSignal): Promise<ReadonlyMap<string, LinkStateItem>> {
  const { items } = await api.get<AcquirerLinkStateList>(estateApiUrls.linkStates, {
    signal,
    isBackground: true,
  });
  return new Map(items.map((item) => [item.acquirerLinkId, item]));
}

export function useLinkStates() {
  const maySee = useHasPermission('rep.read');
  return useQuery({
    queryKey: ['link-states'],
    queryFn: ({ signal }) => read(signal),
    enabled: maySee,
    refetchInterval: askAgainMs,
  });
}
