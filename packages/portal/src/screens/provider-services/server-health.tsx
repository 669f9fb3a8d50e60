/** Shows the calls to a provider's server by hour and by type. */
import { Table } from '@mantine/core';
import type { Service, ServiceCalls } from '@switchyard/contract';
import { Chart } from '../../charts/chart.tsx';
import { KeyFigures } from '../../charts/key-figures.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Panel } from '../../components/layout/page.tsx';
import { DateTime } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { callsByHour } from './calls-by-hour.ts';
import { HealthBadge } from './health-badge.tsx';
import { useServiceCalls } from './provider-service-queries.ts';

export function ServerHealth({ service }: { readonly service: Service }) {
  const t = useTranslate('provider-services');
  const { data, error, refetch } = useServiceCalls(service.serviceId);
  if (service.spiUrl === undefined) {
    return (
      <EmptyState icon="health" title={t('health.noServer.title')}>
        {t('health.noServer.text')}
      </EmptyState>
    );
  }
  if (data === undefined) {
    if (error === null) return <Loading lines={8} />;
    return <ErrorMessage fault={error} onRetry={() => void refetch()} />;
  }
  return (
    <>
      <Sums calls={data} />
      <Panel title={t('health.byHour')}>
        <ByHour calls={data} />
      </Panel>
      <Panel title={t('health.byCall')} flush>
        <ByCall calls={data} />
      </Panel>
    </>
  );
}

function Sums({ calls }: { readonly calls: ServiceCalls }) {
  const t = useTranslate('provider-services');
  const formats = useFormats();
  const sum = (name: 'answered' | 'failed') =>
    calls.calls.reduce((total, each) => total + each[name], 0);
  const [answered, failed] = [sum('answered'), sum('failed')];
  const all = answered + failed;
  return (
    <KeyFigures
      items={[
        { label: t('health.now'), value: <HealthBadge status={calls.status} /> },
        { label: t('health.calls'), value: formats.number(all) },
        {
          label: t('health.answered'),
          value: all === 0 ? '–' : formats.percent(answered / all),
        },
        { label: t('health.failed'), value: formats.number(failed) },
      ]}
    />
  );
}

function ByHour({ calls }: { readonly calls: ServiceCalls }) {
  const t = useTranslate('provider-services');
  const formats = useFormats();
  const hours = callsByHour(calls);
  const hourFormat = new Intl.DateTimeFormat(formats.locale, {
    hour: '2-digit',
    minute: '2-digit',
    timeZone: formats.zone,
  });
  return (
    <Chart
      title={t('health.byHour')}
      kind="lines"
      labelHeader={t('health.hour')}
      labels={hours.map(({ at }) => hourFormat.format(at))}
      series={[
        { name: t('health.answered'), values: hours.map(({ answered }) => answered) },
        { name: t('health.failed'), values: hours.map(({ failed }) => failed) },
      ]}
      format={(value) => formats.number(value)}
    />
  );
}

function ByCall({ calls }: { readonly calls: ServiceCalls }) {
  const t = useTranslate('provider-services');
  const formats = useFormats();
  if (calls.calls.length === 0) return <EmptyState icon="clock" title={t('health.quiet')} />;
  const ms = (value: number) => `${formats.number(value)} ms`;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways is reached by keyboard
    <section className="sy-own-scroll" tabIndex={0} aria-label={t('health.byCall')}>
      <Table miw={640}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('health.call')}</Table.Th>
            <Table.Th ta="end">{t('health.answered')}</Table.Th>
            <Table.Th ta="end">{t('health.failed')}</Table.Th>
            <Table.Th ta="end">{t('health.mean')}</Table.Th>
            <Table.Th ta="end">{t('health.longest')}</Table.Th>
            <Table.Th>{t('health.lastFault')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {calls.calls.map(({ call, answered, failed, meanMs, longestMs, lastFault }) => (
            <Table.Tr key={call}>
              <Table.Th scope="row">{t(`health.names.${call}`)}</Table.Th>
              <Table.Td ta="end">{formats.number(answered)}</Table.Td>
              <Table.Td ta="end">{formats.number(failed)}</Table.Td>
              <Table.Td ta="end">{ms(meanMs)}</Table.Td>
              <Table.Td ta="end">{ms(longestMs)}</Table.Td>
              <Table.Td className="sy-broken">
                {lastFault === undefined ? (
                  '–'
                ) : (
                  <>
                    <code>{lastFault.reason}</code> · <DateTime at={lastFault.at} />
                  </>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}
