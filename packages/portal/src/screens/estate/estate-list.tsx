/** A list of merchants, stores or other entities with filters. */

import { defined } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import type { IconName } from '../../components/icon.tsx';
import { EmptyState } from '../../components/layout/page.tsx';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { FilterBar, type FilterField } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';
import { StatusBadge } from './detail-page.tsx';
import type { EstateKind } from './entity-kinds.ts';
import { useEstateChangeCount } from './versioned-entities.ts';

const filterNames = ['name', 'externalId', 'status', 'merchantId', 'storeId'] as const;
type FilterName = (typeof filterNames)[number];
const pageRows = 200;

export type EstateListProps<Row> = {
  readonly kind: EstateKind;
  readonly address: string;
  readonly icon: IconName;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string;
  readonly rowTo: (row: Row) => string;
  /** Owner filters, in addition to name, identifier and status. */
  readonly owners?: readonly ('merchantId' | 'storeId')[];
  /** Fixed filters, such as the merchant of the page. */
  readonly within?: Readonly<Record<string, string>>;
  /** The name of the list for saved views. */
  readonly views?: string;
};

function useFields(owners: readonly string[]): FilterField<FilterName>[] {
  const t = useTranslate('estate');
  const { merchantId } = useSession();
  const ofMerchants = owners.includes('merchantId') && merchantId === undefined;
  const merchants = useEntityNames('merchants', ofMerchants).data;
  const stores = useEntityNames('stores', owners.includes('storeId')).data;
  const toOptions = (names: ReadonlyMap<string, string> | undefined) =>
    [...(names ?? [])].map(([value, label]) => ({ value, label }));
  const fields: FilterField<FilterName>[] = [
    { kind: 'search', name: 'name', label: t('filters.name') },
    { kind: 'text', name: 'externalId', label: t('fields.externalId') },
    {
      kind: 'choice',
      name: 'status',
      label: t('status'),
      options: ['Enabled', 'Disabled'].map((each) => ({
        value: each,
        label: t(`statuses.${each}`),
      })),
    },
  ];
  if (ofMerchants) {
    const options = toOptions(merchants);
    fields.push({ kind: 'choice', name: 'merchantId', label: t('fields.merchantId'), options });
  }
  if (owners.includes('storeId')) {
    const options = toOptions(stores);
    fields.push({ kind: 'choice', name: 'storeId', label: t('fields.storeId'), options });
  }
  return fields;
}

export function EstateList<Row extends { readonly status: 'Enabled' | 'Disabled' }>(
  props: EstateListProps<Row>,
) {
  const { kind, address, icon, columns, rowKey, rowTo, owners = [], within = {}, views } = props;
  const t = useTranslate('estate');
  const [values, change] = useFilters(filterNames);
  const changes = useEstateChangeCount();
  const fields = useFields(owners);
  const isNarrowed = Object.keys(values).length > 0;
  const status: Column<Row> = {
    id: 'status',
    header: t('status'),
    width: '9rem',
    cardPosition: 'trail',
    cell: (row) => <StatusBadge status={row.status} />,
  };
  return (
    <>
      <FilterBar fields={fields} values={values} onChange={change} {...defined({ views })} />
      <DataTable
        label={t(`kinds.${kind}.many`)}
        listKey={['estate', address, within, values, changes]}
        read={(cursor, signal) =>
          api.get<RowsPage<Row>>(address, {
            query: { ...values, ...within, cursor, limit: pageRows },
            signal,
          })
        }
        columns={[...columns, status]}
        rowKey={rowKey}
        rowTo={rowTo}
        empty={
          isNarrowed ? (
            <EmptyState icon="search" title={t('none.title')}>
              {t('none.text')}
            </EmptyState>
          ) : (
            <EmptyState icon={icon} title={t(`kinds.${kind}.emptyTitle`)}>
              {t(`kinds.${kind}.emptyText`)}
            </EmptyState>
          )
        }
      />
    </>
  );
}
