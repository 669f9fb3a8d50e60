/** The list of webhook endpoints with their status. */
import { Button } from '@mantine/core';
import type { WebhookEndpoint } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Icon } from '../../components/icon.tsx';
import { Page } from '../../components/layout/page.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';
import { EndpointBadge } from './endpoint-badge.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { endpointsUrl } from './webhook-queries.ts';

export function eventTypesText(patterns: readonly string[], t: Translate): string {
  return patterns.includes('*') ? t('fields.isAll') : patterns.join(', ');
}

const columnsOf = (t: Translate): Column<WebhookEndpoint>[] => [
  textColumn(t('fields.url'), ({ url }) => url, 'lead'),
  textColumn(t('fields.description'), ({ description }) => description),
  textColumn(t('fields.eventTypes'), ({ eventTypes }) => eventTypesText(eventTypes, t), 'sub'),
  {
    header: t('fields.merchantId'),
    width: '11rem',
    cell: ({ merchantId }) =>
      merchantId === undefined ? (
        t('allMerchants')
      ) : (
        <EntityName kind="merchants" id={merchantId} />
      ),
  },
  timeColumn(t('succeeded'), ({ health }) => health?.succeededAt),
  {
    header: t('status'),
    width: '9.5rem',
    cardPosition: 'trail',
    cell: (endpoint) => <EndpointBadge endpoint={endpoint} />,
  },
];

export default function Webhooks() {
  const t = useTranslate('webhooks');
  const mayWrite = useHasPermission('hook.write');
  const [isCreating, setCreating] = useState(false);
  const create = mayWrite && (
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
          {create}
        </>
      }
      fill
    >
      <ResourceList
        label={t('title')}
        name="endpoints"
        path={endpointsUrl}
        columns={columnsOf(t)}
        rowKey={({ endpointId }) => endpointId}
        rowTo={({ endpointId }) => `/webhooks/${endpointId}`}
        empty={{
          icon: 'webhooks',
          title: t('empty.title'),
          text: t('empty.text'),
          action: create,
        }}
      />
      {isCreating && <EndpointForm onClose={() => setCreating(false)} />}
    </Page>
  );
}
