/** The list of QR payments of the provider's services, newest first. */
import type { ProviderQrPayment } from '@switchyard/contract';
import { Page } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { Money } from '../../components/values/values.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { moneyColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';
import { useOwnServices } from './provider-service-queries.ts';

const columnsOf = (
  t: Translate,
  states: Translate,
  names: ReadonlyMap<string, string>,
): Column<ProviderQrPayment>[] => [
  timeColumn(t('payments.created'), ({ createdAt }) => createdAt, 'sub'),
  textColumn(
    t('payments.own'),
    ({ providerTransactionId, transactionId }) => providerTransactionId ?? transactionId,
    'lead',
  ),
  textColumn(t('payments.platform'), ({ transactionId }) => transactionId),
  textColumn(t('service'), ({ serviceId, paymentType }) => names.get(serviceId) ?? paymentType),
  {
    header: t('payments.status'),
    width: '11rem',
    cardPosition: 'subtrail',
    cell: ({ status }) => <StateBadge state={status}>{states(`statuses.${status}`)}</StateBadge>,
  },
  moneyColumn(t('payments.amount'), '9rem', (payment) => payment, 'trail'),
  {
    header: t('payments.refunded'),
    width: '9rem',
    align: 'end',
    cell: ({ refundedAmount, currency }) =>
      refundedAmount === 0 ? '–' : <Money amount={refundedAmount} currency={currency} />,
  },
];

export default function OwnPayments() {
  const t = useTranslate('provider-services');
  const states = useTranslate('qr-payments');
  const services = useOwnServices().data?.items ?? [];
  const names = new Map(services.map(({ serviceId, name }) => [serviceId, name]));
  return (
    <Page title={t('payments.title')} lead={t('payments.lead')} fill>
      <ResourceList
        label={t('payments.title')}
        name="own-payments"
        path="/qrcode-payment/v1/provider-transactions"
        columns={columnsOf(t, states, names)}
        rowKey={({ transactionId }) => transactionId}
        empty={{ icon: 'qr', title: t('payments.empty.title'), text: t('payments.empty.text') }}
      />
    </Page>
  );
}
