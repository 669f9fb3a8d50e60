/** The list of webhook deliveries, newest first. */
import type { WebhookDelivery } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import { EmptyState, Page } from '../../components/layout/page.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';
import { AttemptText, DeliveryBadge } from './delivery-badges.tsx';
import { deliveriesUrl, useEndpoints } from './webhook-queries.ts';
import './webhooks.css';

const filterNames = ['eventId', 'endpointId', 'status'] as const;
const statuses = ['Pending', 'Delivered', 'Failed'];

function columnsOf(
  t: Translate,
  urls: ReadonlyMap<string, string>,
  count: (value: number) => string,
): Column<WebhookDelivery>[] {
  return [
    {
      id: 'type',
      header: t('type'),
      cardPosition: 'lead',
      cell: ({ type }) => <TruncatedName>{type}</TruncatedName>,
    },
    {
      id: 'endpoint',
      header: t('endpoint'),
      cell: ({ endpointId }) => <TruncatedName>{urls.get(endpointId) ?? endpointId}</TruncatedName>,
    },
    {
      id: 'status',
      header: t('status'),
      width: '9rem',
      cardPosition: 'trail',
      cell: ({ status }) => <DeliveryBadge status={status} />,
    },
    {
      id: 'answer',
      header: t('lastAnswer'),
      width: '14rem',
      cardPosition: 'subtrail',
      cell: ({ lastAttempt }) => <AttemptText attempt={lastAttempt} />,
    },
    {
      id: 'attempts',
      header: t('attempts'),
      width: '6rem',
      align: 'end',
      cell: ({ attempts }) => count(attempts),
    },
    {
      id: 'next',
      header: t('next'),
      width: '10.5rem',
      cell: ({ nextAttemptAt }) => <DateTime at={nextAttemptAt} />,
    },
    {
      id: 'created',
      header: t('created'),
      width: '10.5rem',
      cardPosition: 'sub',
      cell: ({ createdAt }) => <DateTime at={createdAt} />,
    },
  ];
}

export default function Deliveries() {
  const t = useTranslate('webhooks');
  const formats = useFormats();
  const [values, change] = useFilters(filterNames);
  const endpoints = useEndpoints().data?.items ?? [];
  const urls = new Map(endpoints.map(({ endpointId, url }) => [endpointId, url]));
  return (
    <Page
      title={t('deliveries.title')}
      lead={t('deliveries.lead')}
      backLink={{ to: '/webhooks', label: t('title') }}
      fill
    >
      <FilterBar
        fields={[
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
            options: statuses.map((value) => ({ value, label: t(`deliveryStatuses.${value}`) })),
          },
        ]}
        values={values}
        onChange={change}
        views="deliveries"
      />
      <DataTable
        label={t('deliveries.title')}
        listKey={['deliveries', values]}
        read={(cursor, signal) =>
          api.get<RowsPage<WebhookDelivery>>(deliveriesUrl, {
            query: { ...values, cursor, limit: 200 },
            signal,
          })
        }
        columns={columnsOf(t, urls, formats.number)}
        rowKey={({ deliveryId }) => deliveryId}
        rowTo={({ deliveryId }) => `/webhooks/deliveries/${deliveryId}`}
        empty={
          <EmptyState icon="webhooks" title={t('deliveries.empty')}>
            {t('deliveries.emptyText')}
          </EmptyState>
        }
      />
    </Page>
  );
}
