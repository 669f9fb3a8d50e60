/** A list of merchants, stores or other entities with filters. */
import { defined } from '@switchyard/contract';
import type { IconName } from '../../components/icon.tsx';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import type { FilterField } from '../../filters/filter-bar.tsx';
import { nameOptions, translatedOptions } from '../../filters/filter-options.ts';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';
import { StatusBadge } from './detail-page.tsx';
import type { EstateKind } from './entity-kinds.ts';

export type EstateListProps<Row> = {
  readonly kind: EstateKind;
  readonly path: string;
  readonly icon: IconName;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string;
  readonly rowTo: (row: Row) => string;
  /** Owner filters, in addition to name, identifier and status. */
  readonly owners?: readonly ('merchantId' | 'storeId')[];
  /** Fixed filters, such as the merchant of the page. */
  readonly within?: Readonly<Record<string, string | undefined>>;
  /** The name of the list for saved views. */
  readonly views?: string | undefined;
};

function useFilterFields(owners: readonly string[]): FilterField<string>[] {
  const t = useTranslate('estate');
  const { merchantId } = useSession();
  const ofMerchants = owners.includes('merchantId') && merchantId === undefined;
  const ofStores = owners.includes('storeId');
  const merchants = useEntityNames('merchants', ofMerchants).data;
  const stores = useEntityNames('stores', ofStores).data;
  const owner = (name: string, names: ReadonlyMap<string, string> | undefined) =>
    ({ kind: 'choice', name, label: t(`fields.${name}`), options: nameOptions(names) }) as const;
  return [
    { kind: 'search', name: 'name', label: t('filters.name') },
    { kind: 'text', name: 'externalId', label: t('fields.externalId') },
    {
      kind: 'choice',
      name: 'status',
      label: t('status'),
      options: translatedOptions(t, 'statuses', ['Enabled', 'Disabled']),
    },
    ...(ofMerchants ? [owner('merchantId', merchants)] : []),
    ...(ofStores ? [owner('storeId', stores)] : []),
  ];
}

export function EstateList<Row extends { readonly status: 'Enabled' | 'Disabled' }>(
  props: EstateListProps<Row>,
) {
  const { kind, path, icon, columns, rowKey, rowTo, owners = [], within, views } = props;
  const t = useTranslate('estate');
  const status: Column<Row> = {
    header: t('status'),
    width: '9rem',
    cardPosition: 'trail',
    cell: (row) => <StatusBadge status={row.status} />,
  };
  return (
    <ResourceList
      label={t(`kinds.${kind}.many`)}
      name="estate"
      path={path}
      filters={useFilterFields(owners)}
      queryFor={(values) => ({ ...values, ...defined({ ...within }) })}
      views={views}
      columns={[...columns, status]}
      rowKey={rowKey}
      rowTo={rowTo}
      empty={{ icon, title: t(`kinds.${kind}.emptyTitle`), text: t(`kinds.${kind}.emptyText`) }}
      noMatch={{ title: t('none.title'), text: t('none.text') }}
    />
  );
}
