/** Where events are sent: each endpoint, what it is told of, and how it fares. */
import { Button } from '@mantine/core';
import type { WebhookEndpoint } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { Icon } from '../../components/icon.tsx';
import { EmptyState, Page } from '../../components/layout/page.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
import { Name, Time } from '../../components/values/values.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useCan } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { Page as RowsPage } from '../../table/row-store.ts';
import { EndpointBadge } from './endpoint-badge.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { endpointsAddress } from './webhook-queries.ts';

export function eventsText(patterns: readonly string[], t: Translate): string {
  return patterns.includes('*') ? t('allEvents') : patterns.join(', ');
}

function columnsOf(t: Translate): Column<WebhookEndpoint>[] {
  return [
    { id: 'url', header: t('url'), narrow: 'lead', cell: ({ url }) => <Name>{url}</Name> },
    {
      id: 'description',
      header: t('description'),
      cell: ({ description }) => <Name>{description}</Name>,
    },
    {
      id: 'events',
      header: t('events'),
      narrow: 'sub',
      cell: ({ eventTypes }) => <Name>{eventsText(eventTypes, t)}</Name>,
    },
    {
      id: 'merchant',
      header: t('merchant'),
      width: '11rem',
      cell: ({ merchantId }) =>
        merchantId === undefined ? (
          t('allMerchants')
        ) : (
          <EntityName kind="merchants" id={merchantId} />
        ),
    },
    {
      id: 'succeeded',
      header: t('succeeded'),
      width: '10.5rem',
      cell: ({ health }) => <Time at={health?.succeededAt} />,
    },
    {
      id: 'status',
      header: t('status'),
      width: '9.5rem',
      narrow: 'trail',
      cell: (endpoint) => <EndpointBadge endpoint={endpoint} />,
    },
  ];
}

export default function Webhooks() {
  const t = useTranslate('webhooks');
  const mayWrite = useCan('hook.write');
  const [isCreating, setCreating] = useState(false);
  const create = (
    <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setCreating(true)}>
      {t('create.title')}
    </Button>
  );
  return (
    <Page
      title={t('title')}
      lead={t('lead')}
      actions={
        <>
          <Button component={Link} to="/webhooks/deliveries" variant="default">
            {t('deliveries.title')}
          </Button>
          {mayWrite && create}
        </>
      }
      fill
    >
      <DataTable
        label={t('title')}
        listKey={['endpoints']}
        read={(cursor, signal) =>
          api.get<RowsPage<WebhookEndpoint>>(endpointsAddress, {
            query: { cursor, limit: 200 },
            signal,
          })
        }
        columns={columnsOf(t)}
        rowKey={({ endpointId }) => endpointId}
        rowTo={({ endpointId }) => `/webhooks/${endpointId}`}
        empty={
          <EmptyState
            icon="webhooks"
            title={t('empty.title')}
            {...(mayWrite ? { action: create } : {})}
          >
            {t('empty.text')}
          </EmptyState>
        }
      />
      {isCreating && <EndpointForm onClose={() => setCreating(false)} />}
    </Page>
  );
}
