/** The name of a merchant, a store or a device for an identifier in a response. */
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import { ShortId, TruncatedName } from './values.tsx';

export type EntityKind = 'merchants' | 'stores' | 'logical-devices' | 'acquirer-links';

type NamedEntity = Readonly<Record<string, unknown>> & { readonly name: string };

const idMember: Readonly<Record<EntityKind, string>> = {
  merchants: 'merchantId',
  stores: 'storeId',
  'logical-devices': 'logicalDeviceId',
  'acquirer-links': 'acquirerLinkId',
};
/** The first page of names; other names are read one by one. */
const maxNames = 200;
const cacheMs = 5 * 60_000;

async function readNames(kind: EntityKind): Promise<Map<string, string>> {
  const { items } = await api.get<{ items: NamedEntity[] }>(`/provisioning/v2/${kind}`, {
    query: { limit: maxNames },
  });
  return new Map(items.map((item) => [String(item[idMember[kind]]), item.name]));
}

/** Acquirer links belong to the organisation; users of a merchant may not read them. */
function useMayRead(kind: EntityKind): boolean {
  const mayRead = useHasPermission('prov.read');
  const { entityType } = useSession();
  return mayRead && (kind !== 'acquirer-links' || entityType === 'tenant');
}

/** The first page of names of an entity kind, as options of a filter. */
export function useEntityNames(kind: EntityKind, isWanted = true) {
  const mayRead = useMayRead(kind);
  return useQuery({
    queryKey: ['names', kind],
    queryFn: () => readNames(kind),
    enabled: isWanted && mayRead,
    staleTime: cacheMs,
  });
}

export function useEntityName(kind: EntityKind, id: string | null | undefined): string | undefined {
  const mayRead = useMayRead(kind);
  const names = useEntityNames(kind, id !== undefined && id !== null);
  const nameInList = names.data?.get(id ?? '');
  const alone = useQuery({
    queryKey: ['name', kind, id],
    queryFn: () => api.get<NamedEntity>(`/provisioning/v2/${kind}/${id}`),
    enabled: mayRead && names.isSuccess && nameInList === undefined && typeof id === 'string',
    staleTime: cacheMs,
  });
  return nameInList ?? alone.data?.name;
}

export function EntityName({
  kind,
  id,
}: {
  readonly kind: EntityKind;
  readonly id: string | null | undefined;
}) {
  const name = useEntityName(kind, id);
  if (name !== undefined) return <TruncatedName>{name}</TruncatedName>;
  return typeof id === 'string' ? <ShortId id={id} /> : <TruncatedName>{undefined}</TruncatedName>;
}
