/** The list of settlements by acquirer, merchant and day. */
import type { Settlement } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import { EmptyState, Page } from '../../components/layout/page.tsx';
import { EntityName, useEntityNames } from '../../components/values/entity-name.tsx';
import { Money } from '../../components/values/values.tsx';
import { FilterBar, type FilterField } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats, useSession } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';

const names = ['from', 'to', 'merchantId', 'acquirerLinkId', 'currency'] as const;
const currencies = ['EUR', 'USD', 'GBP', 'CHF', 'JPY', 'INR', 'KWD'];

function columnsOf(
  t: Translate,
  day: (day: string) => string,
  hasLinks: boolean,
): Column<Settlement>[] {
  const sum = (id: 'captures' | 'refunds' | 'pending', header: string): Column<Settlement> => ({
    id,
    header,
    align: 'end',
    cell: ({ currency, [id]: { amount, count } }) => (
      <span title={t('count', { count })}>
        <Money amount={BigInt(amount)} currency={currency} />
      </span>
    ),
  });
  const link: Column<Settlement> = {
    id: 'link',
    header: t('acquirer'),
    cell: ({ acquirerLinkId }) => <EntityName kind="acquirer-links" id={acquirerLinkId} />,
  };
  return [
    {
      id: 'day',
      header: t('day'),
      width: '8.5rem',
      cardPosition: 'lead',
      cell: (settlement) => day(settlement.day),
    },
    {
      id: 'merchant',
      header: t('merchant'),
      cardPosition: 'sub',
      cell: ({ merchantId }) => <EntityName kind="merchants" id={merchantId} />,
    },
    ...(hasLinks ? [link] : []),
    sum('captures', t('captures')),
    sum('refunds', t('refunds')),
    sum('pending', t('pending')),
    {
      id: 'net',
      header: t('net'),
      align: 'end',
      cardPosition: 'trail',
      cell: ({ net, currency }) => (
        <strong>
          <Money amount={BigInt(net)} currency={currency} />
        </strong>
      ),
    },
  ];
}

export default function Settlements() {
  const t = useTranslate('settlements');
  const formats = useFormats();
  const { merchantId } = useSession();
  const [values, change] = useFilters(names);
  const merchants = useEntityNames('merchants', merchantId === undefined).data;
  const links = useEntityNames('acquirer-links').data;
  const toOptions = (names: ReadonlyMap<string, string> | undefined) =>
    [...(names ?? [])].map(([value, label]) => ({ value, label }));
  const merchant = {
    kind: 'choice',
    name: 'merchantId',
    label: t('merchant'),
    options: toOptions(merchants),
  } as const;
  const link = {
    kind: 'choice',
    name: 'acquirerLinkId',
    label: t('acquirer'),
    options: toOptions(links),
  } as const;
  const fields: FilterField<(typeof names)[number]>[] = [
    { kind: 'period', from: 'from', to: 'to', label: t('period') },
    ...(merchantId === undefined ? [merchant] : []),
    ...(merchantId === undefined ? [link] : []),
    {
      kind: 'choice',
      name: 'currency',
      label: t('currency'),
      options: currencies.map((value) => ({ value, label: value })),
    },
  ];
  return (
    <Page title={t('title')} lead={t('lead')} fill>
      <FilterBar fields={fields} values={values} onChange={change} views="settlements" />
      <DataTable
        label={t('title')}
        listKey={['settlements', values]}
        read={(cursor, signal) =>
          api.get<RowsPage<Settlement>>('/reporting/v1/settlements', {
            query: { ...values, cursor, limit: 200 },
            signal,
          })
        }
        columns={columnsOf(t, formats.day, merchantId === undefined)}
        rowKey={({ settlementId }) => settlementId}
        rowTo={({ settlementId }) => `/settlements/${settlementId}`}
        empty={
          <EmptyState icon="settlements" title={t('empty.title')}>
            {t('empty.text')}
          </EmptyState>
        }
      />
    </Page>
  );
}
