/** The list of webhook deliveries, newest first. */
import type { WebhookDelivery } from '@switchyard/contract';
import { Page } from '../../components/layout/page.tsx';
import { translatedOptions } from '../../filters/filter-options.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { numberColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';
import { AttemptText, DeliveryBadge } from './delivery-badges.tsx';
import { deliveriesUrl, useEndpoints } from './webhook-queries.ts';
import './webhooks.css';

const columnsOf = (
  t: Translate,
  urls: ReadonlyMap<string, string>,
  count: (value: number) => string,
): Column<WebhookDelivery>[] => [
  textColumn(t('type'), ({ type }) => type, 'lead'),
  textColumn(t('endpoint'), ({ endpointId }) => urls.get(endpointId) ?? endpointId),
  {
    header: t('status'),
    width: '9rem',
    cardPosition: 'trail',
    cell: ({ status }) => <DeliveryBadge status={status} />,
  },
  {
    header: t('lastAnswer'),
    width: '14rem',
    cardPosition: 'subtrail',
    cell: ({ lastAttempt }) => <AttemptText attempt={lastAttempt} />,
  },
  numberColumn(t('attempts'), '6rem', ({ attempts }) => count(attempts)),
  timeColumn(t('next'), ({ nextAttemptAt }) => nextAttemptAt),
  timeColumn(t('created'), ({ createdAt }) => createdAt, 'sub'),
];

export default function Deliveries() {
  const t = useTranslate('webhooks');
  const formats = useFormats();
  const endpoints = useEndpoints().data?.items ?? [];
  const urls = new Map(endpoints.map(({ endpointId, url }) => [endpointId, url]));
  return (
    <Page
      title={t('deliveries.title')}
      lead={t('deliveries.lead')}
      backLink={{ to: '/webhooks', label: t('title') }}
      fill
    >
      <ResourceList
        label={t('deliveries.title')}
        name="deliveries"
        path={deliveriesUrl}
        filters={[
          { kind: 'search', name: 'eventId', label: t('event') },
          {
            kind: 'choice',
            name: 'endpointId',
            label: t('endpoint'),
            options: endpoints.map(({ endpointId, url }) => ({ value: endpointId, label: url })),
          },
          {
            kind: 'choice',
            name: 'status',
            label: t('status'),
            options: translatedOptions(t, 'deliveryStatuses', ['Pending', 'Delivered', 'Failed']),
          },
        ]}
        views="deliveries"
        columns={columnsOf(t, urls, formats.number)}
        rowKey={({ deliveryId }) => deliveryId}
        rowTo={({ deliveryId }) => `/webhooks/deliveries/${deliveryId}`}
        empty={{
          icon: 'webhooks',
          title: t('deliveries.empty'),
          text: t('deliveries.emptyText'),
        }}
      />
    </Page>
  );
}
