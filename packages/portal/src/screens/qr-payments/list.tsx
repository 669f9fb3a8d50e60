/** The list of QR payments, newest first. */
import type { QrTransaction } from '@switchyard/contract';
import { Page } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { moneyColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';

const columnsOf = (t: Translate): Column<QrTransaction>[] => [
  timeColumn(t('created'), ({ createdAt }) => createdAt, 'sub'),
  textColumn(t('reference'), ({ clientTransactionId }) => clientTransactionId, 'lead'),
  textColumn(t('paymentType'), ({ paymentType }) => paymentType),
  {
    header: t('status'),
    width: '11rem',
    cardPosition: 'subtrail',
    cell: ({ status }) => <StateBadge state={status}>{t(`statuses.${status}`)}</StateBadge>,
  },
  moneyColumn(t('amount'), '10rem', ({ paymentAmount }) => paymentAmount, 'trail'),
];

export default function QrPayments() {
  const t = useTranslate('qr-payments');
  return (
    <Page title={t('title')} lead={t('lead')} fill>
      <ResourceList
        label={t('title')}
        name="qr-payments"
        path="/qrcode-payment/v1/transactions"
        columns={columnsOf(t)}
        rowKey={({ transactionId }) => transactionId}
        rowTo={({ transactionId }) => `/payments/${transactionId}`}
        empty={{ icon: 'qr', title: t('empty.title'), text: t('empty.text') }}
      />
    </Page>
  );
}
