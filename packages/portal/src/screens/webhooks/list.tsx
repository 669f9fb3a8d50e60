/** The list of webhook endpoints with their status. */
import { Button } from '@mantine/core';
import type { WebhookEndpoint } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { Icon } from '../../components/icon.tsx';
import { EmptyState, Page } from '../../components/layout/page.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';
import { EndpointBadge } from './endpoint-badge.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { endpointsUrl } from './webhook-queries.ts';

export function eventTypesText(patterns: readonly string[], t: Translate): string {
  return patterns.includes('*') ? t('allEvents') : patterns.join(', ');
}

function columnsOf(t: Translate): Column<WebhookEndpoint>[] {
  return [
    {
      id: 'url',
      header: t('url'),
      cardPosition: 'lead',
      cell: ({ url }) => <TruncatedName>{url}</TruncatedName>,
    },
    {
      id: 'description',
      header: t('description'),
      cell: ({ description }) => <TruncatedName>{description}</TruncatedName>,
    },
    {
      id: 'events',
      header: t('events'),
      cardPosition: 'sub',
      cell: ({ eventTypes }) => <TruncatedName>{eventTypesText(eventTypes, t)}</TruncatedName>,
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
      cell: ({ health }) => <DateTime at={health?.succeededAt} />,
    },
    {
      id: 'status',
      header: t('status'),
      width: '9.5rem',
      cardPosition: 'trail',
      cell: (endpoint) => <EndpointBadge endpoint={endpoint} />,
    },
  ];
}

export default function Webhooks() {
  const t = useTranslate('webhooks');
  const mayWrite = useHasPermission('hook.write');
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
          api.get<RowsPage<WebhookEndpoint>>(endpointsUrl, {
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
