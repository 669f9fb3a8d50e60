/** The list of QR payments of the provider's services, newest first. */
import type { ProviderQrPayment } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import { EmptyState, Page } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, Money, TruncatedName } from '../../components/values/values.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';
import { useOwnServices } from './provider-service-queries.ts';

function columnsOf(
  t: Translate,
  states: Translate,
  names: ReadonlyMap<string, string>,
): Column<ProviderQrPayment>[] {
  return [
    {
      id: 'created',
      header: t('payments.created'),
      width: '10.5rem',
      cardPosition: 'sub',
      cell: ({ createdAt }) => <DateTime at={createdAt} />,
    },
    {
      id: 'provider',
      header: t('payments.own'),
      cardPosition: 'lead',
      cell: ({ providerTransactionId, transactionId }) => (
        <TruncatedName>{providerTransactionId ?? transactionId}</TruncatedName>
      ),
    },
    {
      id: 'platform',
      header: t('payments.platform'),
      cell: ({ transactionId }) => <TruncatedName>{transactionId}</TruncatedName>,
    },
    {
      id: 'service',
      header: t('service'),
      cell: ({ serviceId, paymentType }) => (
        <TruncatedName>{names.get(serviceId) ?? paymentType}</TruncatedName>
      ),
    },
    {
      id: 'status',
      header: t('payments.status'),
      width: '11rem',
      cardPosition: 'subtrail',
      cell: ({ status }) => <StateBadge state={status}>{states(`statuses.${status}`)}</StateBadge>,
    },
    {
      id: 'amount',
      header: t('payments.amount'),
      width: '9rem',
      align: 'end',
      cardPosition: 'trail',
      cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
    },
    {
      id: 'refunded',
      header: t('payments.refunded'),
      width: '9rem',
      align: 'end',
      cell: ({ refundedAmount, currency }) =>
        refundedAmount === 0 ? '–' : <Money amount={refundedAmount} currency={currency} />,
    },
  ];
}

export default function OwnPayments() {
  const t = useTranslate('provider-services');
  const states = useTranslate('qr-payments');
  const services = useOwnServices().data?.items ?? [];
  const names = new Map(services.map(({ serviceId, name }) => [serviceId, name]));
  return (
    <Page title={t('payments.title')} lead={t('payments.lead')} fill>
      <DataTable
        label={t('payments.title')}
        listKey={['own-payments']}
        read={(cursor, signal) =>
          api.get<RowsPage<ProviderQrPayment>>('/qrcode-payment/v1/provider-transactions', {
            query: { cursor, limit: 200 },
            signal,
          })
        }
        columns={columnsOf(t, states, names)}
        rowKey={({ transactionId }) => transactionId}
        empty={
          <EmptyState icon="qr" title={t('payments.empty.title')}>
            {t('payments.empty.text')}
          </EmptyState>
        }
      />
    </Page>
  );
}
