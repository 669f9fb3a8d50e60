/** How the acquirer links stand, looked at again by itself. */
import type { AcquirerLinkStateList } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useCan } from '../../session/use-session.ts';
import { addresses } from '../estate/entity-kinds.ts';
import type { LinkFacts } from './link-state.ts';

const askAgainMs = 10_000;

async function read(signal: AbortSignal): Promise<ReadonlyMap<string, LinkFacts>> {
  const { items } = await api.get<AcquirerLinkStateList>(addresses.linkStates, {
    signal,
    isBackground: true,
  });
  return new Map(items.map((item) => [item.acquirerLinkId, item]));
}

export function useLinkStates() {
  const maySee = useCan('rep.read');
  return useQuery({
    queryKey: ['link-states'],
    queryFn: ({ signal }) => read(signal),
    enabled: maySee,
    refetchInterval: askAgainMs,
  });
}
