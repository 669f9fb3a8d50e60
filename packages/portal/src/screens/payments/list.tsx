/** The list of payments, cards and QR codes, newest first. */
import type { ReportedPayment } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import { EmptyState, Page } from '../../components/layout/page.tsx';
import { EntityName, useEntityNames } from '../../components/values/entity-name.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, Money, TruncatedName } from '../../components/values/values.tsx';
import { FilterBar, type FilterField } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats, useSession } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';
import { ExportButton } from './export-button.tsx';
import { filterNames, paymentSearchQuery } from './payment-filters.ts';
import { PaymentMethod } from './payment-method.tsx';

type FilterName = (typeof filterNames)[number];

const states = [
  'Authorized',
  'Captured',
  'PartiallyCaptured',
  'PartiallyRefunded',
  'Refunded',
  'Cancelled',
  'Declined',
  'Failed',
  'Reversing',
  'Reversed',
  'Expired',
  'Received',
  'Stored',
  'Created',
  'Pending',
  'Scanned',
  'Completed',
];
const schemes = ['Visa', 'Mastercard', 'Amex', 'Discover', 'Jcb', 'UnionPay', 'Maestro'];
const currencies = ['EUR', 'USD', 'GBP', 'CHF', 'JPY', 'INR', 'KWD'];

function columnsOf(t: Translate, hasMerchants: boolean): Column<ReportedPayment>[] {
  const merchant: Column<ReportedPayment> = {
    id: 'merchant',
    header: t('merchant'),
    cell: ({ merchantId }) => <EntityName kind="merchants" id={merchantId} />,
  };
  return [
    {
      id: 'created',
      header: t('created'),
      width: '10.5rem',
      cardPosition: 'sub',
      cell: ({ createdAt }) => <DateTime at={createdAt} />,
    },
    {
      id: 'amount',
      header: t('amount'),
      width: '9rem',
      align: 'end',
      cardPosition: 'trail',
      cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
    },
    {
      id: 'state',
      header: t('state'),
      width: '11rem',
      cardPosition: 'subtrail',
      cell: ({ state }) => <StateBadge state={state}>{t(`states.${state}`)}</StateBadge>,
    },
    {
      id: 'with',
      header: t('paidWith'),
      width: '12rem',
      cardPosition: 'lead',
      cell: (payment) => <PaymentMethod payment={payment} />,
    },
    {
      id: 'reference',
      header: t('reference'),
      cell: ({ clientTransactionId }) => <TruncatedName>{clientTransactionId}</TruncatedName>,
    },
    ...(hasMerchants ? [merchant] : []),
    {
      id: 'store',
      header: t('store'),
      cell: ({ storeId }) => <EntityName kind="stores" id={storeId} />,
    },
  ];
}

function useFields(t: Translate): FilterField<FilterName>[] {
  const { merchantId } = useSession();
  const merchants = useEntityNames('merchants', merchantId === undefined).data;
  const stores = useEntityNames('stores').data;
  const toOptions = (names: ReadonlyMap<string, string> | undefined) =>
    [...(names ?? [])].map(([value, label]) => ({ value, label }));
  const plain = (words: readonly string[]) => words.map((word) => ({ value: word, label: word }));
  return [
    { kind: 'search', name: 'text', label: t('search') },
    { kind: 'period', from: 'from', to: 'to', label: t('period') },
    {
      kind: 'choices',
      name: 'state',
      label: t('state'),
      options: states.map((state) => ({ value: state, label: t(`states.${state}`) })),
    },
    { kind: 'choices', name: 'scheme', label: t('scheme'), options: plain(schemes) },
    { kind: 'choices', name: 'currency', label: t('currency'), options: plain(currencies) },
    ...(merchantId === undefined
      ? [
          {
            kind: 'choice',
            name: 'merchantId',
            label: t('merchant'),
            options: toOptions(merchants),
          } as const,
        ]
      : []),
    { kind: 'choice', name: 'storeId', label: t('store'), options: toOptions(stores) },
  ];
}

export default function Payments() {
  const t = useTranslate('payments');
  const formats = useFormats();
  const { merchantId } = useSession();
  const [values, change] = useFilters(filterNames);
  const fields = useFields(t);
  const query = paymentSearchQuery(values, formats);
  const isNarrowed = Object.keys(values).length > 0;
  return (
    <Page title={t('title')} actions={<ExportButton filters={query} />} fill>
      <FilterBar fields={fields} values={values} onChange={change} views="payments" />
      <DataTable
        label={t('title')}
        listKey={['payments', query]}
        read={(cursor, signal) =>
          api.get<RowsPage<ReportedPayment>>('/reporting/v1/transactions', {
            query: { ...query, cursor, limit: 200 },
            signal,
          })
        }
        columns={columnsOf(t, merchantId === undefined)}
        rowKey={({ transactionId }) => transactionId}
        rowTo={({ transactionId }) => `/payments/${transactionId}`}
        empty={
          isNarrowed ? (
            <EmptyState icon="search" title={t('none.title')}>
              {t('none.text')}
            </EmptyState>
          ) : (
            <EmptyState icon="payments" title={t('empty.title')}>
              {t('empty.text')}
            </EmptyState>
          )
        }
      />
    </Page>
  );
}
