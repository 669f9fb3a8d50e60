/** The health screen: components and queues, refreshed regularly. */

import { Table } from '@mantine/core';
import { defined, type PlatformHealth } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Loading, Page, Panel } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';

const askAgainMs = 10_000;
const queues = ['jobs', 'outbox', 'webhooks'] as const;

function useHealth() {
  return useQuery({
    queryKey: ['health'],
    queryFn: ({ signal }) =>
      api.get<PlatformHealth>('/health/v1/components', { signal, isBackground: true }),
    refetchInterval: askAgainMs,
  });
}

export default function Health() {
  const t = useTranslate('health');
  const { data, error, refetch } = useHealth();
  return (
    <Page
      title={t('title')}
      lead={data === undefined ? undefined : <Looked at={data.at} />}
      {...defined({
        aside:
          data === undefined ? undefined : (
            <StateBadge state="" tone={data.status === 'Up' ? 'good' : 'bad'}>
              {t(`overall.${data.status}`)}
            </StateBadge>
          ),
      })}
    >
      {error !== null && <ErrorMessage fault={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Loading lines={6} />}
      {data !== undefined && (
        <>
          <Components health={data} />
          <Queues health={data} />
        </>
      )}
    </Page>
  );
}

function Looked({ at }: { readonly at: string }) {
  const t = useTranslate('health');
  return (
    <>
      {t('lookedAt')} <DateTime at={at} exact />
    </>
  );
}

function Components({ health }: { readonly health: PlatformHealth }) {
  const t = useTranslate('health');
  return (
    <Panel title={t('components')} flush>
      <Table>
        <Table.Tbody>
          {health.components.map(({ name, status }) => (
            <Table.Tr key={name}>
              <Table.Th scope="row">{t(`names.${name}`)}</Table.Th>
              <Table.Td ta="end">
                <StateBadge state="" tone={status === 'Up' ? 'good' : 'bad'}>
                  {t(`states.${status}`)}
                </StateBadge>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Panel>
  );
}

function Queues({ health }: { readonly health: PlatformHealth }) {
  const t = useTranslate('health');
  const formats = useFormats();
  return (
    <Panel title={t('queues')} flush>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('queue')}</Table.Th>
            <Table.Th ta="end">{t('waiting')}</Table.Th>
            <Table.Th ta="end">{t('oldest')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {queues.map((name) => (
            <Table.Tr key={name}>
              <Table.Th scope="row">{t(`queueNames.${name}`)}</Table.Th>
              <Table.Td ta="end">{formats.number(health.queues[name].waiting)}</Table.Td>
              <Table.Td ta="end">
                {t('seconds', {
                  count: health.queues[name].oldestSeconds,
                  seconds: formats.number(health.queues[name].oldestSeconds),
                })}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Panel>
  );
}
