/** The figures by store, terminal, scheme or merchant, most payments first. */

import { ScrollArea, SegmentedControl, Table } from '@mantine/core';
import type { SummaryLine } from '@switchyard/contract';
import type { ReactNode } from 'react';
import type { Query } from '../../api/client.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Loading, Panel } from '../../components/layout/page.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
import { Money } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats, useSession } from '../../session/use-session.ts';
import { type Grouping, minorAmountOf, useSummary } from './read-summary.ts';

const groupings = ['merchant', 'store', 'device', 'scheme', 'responseCategory'] as const;
const linesMost = 50;

function keyOf(line: SummaryLine): string {
  const { merchantId, storeId, deviceId, scheme, responseCategory } = line;
  return [merchantId, storeId, deviceId, scheme, responseCategory].join(' ');
}

function nameOf(line: SummaryLine, grouping: Grouping): ReactNode {
  if (grouping === 'merchant') return <EntityName kind="merchants" id={line.merchantId} />;
  if (grouping === 'store') return <EntityName kind="stores" id={line.storeId} />;
  if (grouping === 'device') return <EntityName kind="logical-devices" id={line.deviceId} />;
  return (grouping === 'scheme' ? line.scheme : line.responseCategory) ?? '–';
}

export function Breakdown({
  query,
  currency,
  grouping: chosen,
  onBy,
}: {
  readonly query: Query;
  readonly currency: string;
  readonly grouping: string | undefined;
  readonly onBy: (grouping: string) => void;
}) {
  const t = useTranslate('analytics');
  const { merchantId } = useSession();
  const choices = groupings.filter((each) => each !== 'merchant' || merchantId === undefined);
  const grouping = choices.find((each) => each === chosen) ?? choices[0] ?? 'store';
  const { data, error, refetch } = useSummary({ ...query, groupBy: grouping, order: 'Count' });
  return (
    <Panel
      title={t('breakdown')}
      flush
      actions={
        <SegmentedControl
          size="xs"
          className="sy-wide-choice"
          aria-label={t('breakdown')}
          value={grouping}
          onChange={onBy}
          data={choices.map((each) => ({ value: each, label: t(`by.${each}`) }))}
        />
      }
    >
      {error !== null && <ErrorMessage fault={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Loading lines={4} />}
      {data !== undefined && data.groupBy === grouping && (
        <Lines lines={data.items.slice(0, linesMost)} grouping={grouping} currency={currency} />
      )}
    </Panel>
  );
}

function Lines({
  lines,
  grouping,
  currency,
}: {
  readonly lines: readonly SummaryLine[];
  readonly grouping: Grouping;
  readonly currency: string;
}) {
  const t = useTranslate('analytics');
  const formats = useFormats();
  return (
    <ScrollArea type="auto" viewportProps={{ tabIndex: 0, 'aria-label': t('breakdown') }}>
      <Table verticalSpacing={6} horizontalSpacing="md" miw="46rem">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t(`by.${grouping}`)}</Table.Th>
            <Table.Th ta="end">{t('payments')}</Table.Th>
            <Table.Th ta="end">{t('approvalRate')}</Table.Th>
            <Table.Th ta="end">{t('captured')}</Table.Th>
            <Table.Th ta="end">{t('refunded')}</Table.Th>
            <Table.Th ta="end">{t('p50')}</Table.Th>
            <Table.Th ta="end">{t('p95')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {lines.map((line) => (
            <Table.Tr key={keyOf(line)}>
              <Table.Td maw="16rem">{nameOf(line, grouping)}</Table.Td>
              <Table.Td ta="end">{formats.number(line.count)}</Table.Td>
              <Table.Td ta="end">
                {line.approvalRate === null ? '–' : formats.percent(line.approvalRate)}
              </Table.Td>
              <Table.Td ta="end">
                <Money amount={minorAmountOf(line, currency, 'captured')} currency={currency} />
              </Table.Td>
              <Table.Td ta="end">
                <Money amount={minorAmountOf(line, currency, 'refunded')} currency={currency} />
              </Table.Td>
              <Table.Td ta="end">
                {line.latency === null ? '–' : `${line.latency.p50Ms} ms`}
              </Table.Td>
              <Table.Td ta="end">
                {line.latency === null ? '–' : `${line.latency.p95Ms} ms`}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea>
  );
}
