/** The list of QR payments, newest first. */
import type { QrTransaction } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import { EmptyState, Page } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, Money, TruncatedName } from '../../components/values/values.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';

function columnsOf(t: Translate): Column<QrTransaction>[] {
  return [
    {
      id: 'created',
      header: t('created'),
      width: '10.5rem',
      cardPosition: 'sub',
      cell: ({ createdAt }) => <DateTime at={createdAt} />,
    },
    {
      id: 'client',
      header: t('reference'),
      cardPosition: 'lead',
      cell: ({ clientTransactionId }) => <TruncatedName>{clientTransactionId}</TruncatedName>,
    },
    {
      id: 'type',
      header: t('paymentType'),
      cell: ({ paymentType }) => <TruncatedName>{paymentType}</TruncatedName>,
    },
    {
      id: 'status',
      header: t('status'),
      width: '11rem',
      cardPosition: 'subtrail',
      cell: ({ status }) => <StateBadge state={status}>{t(`statuses.${status}`)}</StateBadge>,
    },
    {
      id: 'amount',
      header: t('amount'),
      width: '10rem',
      align: 'end',
      cardPosition: 'trail',
      cell: ({ paymentAmount: { amount, currency } }) => (
        <Money amount={amount} currency={currency} />
      ),
    },
  ];
}

export default function QrPayments() {
  const t = useTranslate('qr-payments');
  return (
    <Page title={t('title')} lead={t('lead')} fill>
      <DataTable
        label={t('title')}
        listKey={['qr-payments']}
        read={(cursor, signal) =>
          api.get<RowsPage<QrTransaction>>('/qrcode-payment/v1/transactions', {
            query: { cursor, limit: 200 },
            signal,
          })
        }
        columns={columnsOf(t)}
        rowKey={({ transactionId }) => transactionId}
        rowTo={({ transactionId }) => `/payments/${transactionId}`}
        empty={
          <EmptyState icon="qr" title={t('empty.title')}>
            {t('empty.text')}
          </EmptyState>
        }
      />
    </Page>
  );
}
