/** The latest deliveries of an endpoint; polls while one is in progress. */
import { Button, Table } from '@mantine/core';
import type { WebhookDelivery } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { EmptyState, Panel } from '../../components/layout/page.tsx';
import { QueryContent } from '../../components/layout/query-content.tsx';
import { DateTime } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { AttemptText, DeliveryBadge } from './delivery-badges.tsx';
import { deliveriesUrl } from './webhook-queries.ts';

const displayLimit = 10;
const askAgainMs = 3_000;

export function RecentDeliveries({ endpointId }: { readonly endpointId: string }) {
  const t = useTranslate('webhooks');
  const query = useQuery({
    queryKey: ['recent-deliveries', endpointId],
    queryFn: ({ signal }) =>
      api.get<{ items: WebhookDelivery[] }>(deliveriesUrl, {
        query: { endpointId, limit: displayLimit },
        signal,
        isBackground: true,
      }),
    refetchInterval: ({ state }) =>
      state.data?.items.some(({ status }) => status === 'Pending') ? askAgainMs : false,
  });
  const all = (
    <Button
      component={Link}
      to="/webhooks/deliveries"
      search={{ endpointId } as never}
      variant="default"
      size="compact-sm"
    >
      {t('deliveries.all')}
    </Button>
  );
  return (
    <Panel title={t('deliveries.recent')} flush actions={all}>
      <QueryContent query={query} lines={4}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon="webhooks" title={t('deliveries.none')}>
              {t('deliveries.noneText')}
            </EmptyState>
          ) : (
            <DeliveryTable deliveries={items} />
          )
        }
      </QueryContent>
    </Panel>
  );
}

export function DeliveryTable({ deliveries }: { readonly deliveries: readonly WebhookDelivery[] }) {
  const t = useTranslate('webhooks');
  return (
    <div className="sy-hook-scroll">
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('type')}</Table.Th>
            <Table.Th>{t('status')}</Table.Th>
            <Table.Th>{t('lastAnswer')}</Table.Th>
            <Table.Th>{t('created')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {deliveries.map(({ deliveryId, type, status, lastAttempt, createdAt }) => (
            <Table.Tr key={deliveryId}>
              <Table.Td>
                <Link to={`/webhooks/deliveries/${deliveryId}`}>{type}</Link>
              </Table.Td>
              <Table.Td>
                <DeliveryBadge status={status} />
              </Table.Td>
              <Table.Td>
                <AttemptText attempt={lastAttempt} />
              </Table.Td>
              <Table.Td>
                <DateTime at={createdAt} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}
