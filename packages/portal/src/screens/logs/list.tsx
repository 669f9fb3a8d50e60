/** The log of API requests of the organisation. */
import type { LoggedRequest } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import { EmptyState, Page } from '../../components/layout/page.tsx';
import { StateBadge, type Tone } from '../../components/values/state-badge.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { withDayRange } from '../../filters/day-range-query.ts';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import type { Formats } from '../../session/locale-formats.ts';
import { useFormats } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';

const filterNames = [
  ...(['requestId', 'source', 'status', 'method', 'clientId', 'code', 'from', 'to'] as const),
] as const;
/** Requests of portal pages are hidden by default, except in a search for one request or client. */
const sourceFor = ({ requestId, clientId }: { requestId?: string; clientId?: string }) =>
  requestId === undefined && clientId === undefined ? 'Api' : 'All';
const sources = ['Api', 'Portal', 'All'];
const statuses = ['2xx', '4xx', '5xx'];
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const plain = (words: readonly string[]) => words.map((word) => ({ value: word, label: word }));

function toneOf(status: number): Tone {
  if (status >= 500) return 'bad';
  return status >= 400 ? 'warn' : 'good';
}

function columnsOf(t: Translate, formats: Formats): Column<LoggedRequest>[] {
  return [
    {
      id: 'at',
      header: t('at'),
      width: '10.5rem',
      cardPosition: 'sub',
      cell: ({ at }) => <DateTime at={at} />,
    },
    { id: 'method', header: t('method'), width: '5.5rem', cell: ({ method }) => method },
    {
      id: 'path',
      header: t('path'),
      cardPosition: 'lead',
      cell: ({ path }) => <TruncatedName>{path}</TruncatedName>,
    },
    {
      id: 'status',
      header: t('status'),
      width: '6rem',
      cardPosition: 'trail',
      cell: ({ status }) => (
        <StateBadge state="" tone={toneOf(status)}>
          {status}
        </StateBadge>
      ),
    },
    {
      id: 'code',
      header: t('code'),
      width: '9rem',
      cardPosition: 'subtrail',
      cell: ({ code }) => <TruncatedName>{code}</TruncatedName>,
    },
    {
      id: 'took',
      header: t('took'),
      width: '6rem',
      align: 'end',
      cell: ({ durationMs }) => t('ms', { count: durationMs, ms: formats.number(durationMs) }),
    },
    {
      id: 'client',
      header: t('client'),
      width: '10rem',
      cell: ({ clientId }) => <TruncatedName>{clientId}</TruncatedName>,
    },
    {
      id: 'request',
      header: t('request'),
      width: '9rem',
      cell: ({ requestId }) => <TruncatedName>{requestId}</TruncatedName>,
    },
  ];
}

export default function Logs() {
  const t = useTranslate('logs');
  const formats = useFormats();
  const [values, change] = useFilters(filterNames);
  const effectiveValues = { source: sourceFor(values), ...values };
  const { source, ...filters } = effectiveValues;
  const query = withDayRange({ ...filters, ...(source === 'All' ? {} : { source }) }, formats);
  return (
    <Page title={t('title')} lead={t('lead')} fill>
      <FilterBar
        fields={[
          { kind: 'search', name: 'requestId', label: t('request') },
          {
            kind: 'choice',
            name: 'source',
            isAlwaysSet: true,
            label: t('source'),
            options: sources.map((value) => ({ value, label: t(`sources.${value}`) })),
          },
          { kind: 'choice', name: 'status', label: t('status'), options: plain(statuses) },
          { kind: 'choice', name: 'method', label: t('method'), options: plain(methods) },
          { kind: 'text', name: 'clientId', label: t('client') },
          { kind: 'text', name: 'code', label: t('code') },
          { kind: 'period', from: 'from', to: 'to', label: t('period') },
        ]}
        values={effectiveValues}
        chosenValues={values}
        onChange={change}
        views="logs"
      />
      <DataTable
        label={t('title')}
        listKey={['logs', query]}
        read={(cursor, signal) =>
          api.get<RowsPage<LoggedRequest>>('/logs/v1/requests', {
            query: { ...query, cursor, limit: 200 },
            signal,
          })
        }
        columns={columnsOf(t, formats)}
        rowKey={({ sequence }) => String(sequence)}
        empty={
          <EmptyState icon="logs" title={t('empty.title')}>
            {t('empty.text')}
          </EmptyState>
        }
      />
    </Page>
  );
}
