/** The log of API requests of the organisation. */
import type { LoggedRequest } from '@switchyard/contract';
import { Page } from '../../components/layout/page.tsx';
import { StateBadge, type Tone } from '../../components/values/state-badge.tsx';
import { withDayRange } from '../../filters/day-range-query.ts';
import { plainOptions, translatedOptions } from '../../filters/filter-options.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import type { Formats } from '../../session/locale-formats.ts';
import { useFormats } from '../../session/use-session.ts';
import { numberColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';

const statuses = ['2xx', '4xx', '5xx'];
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

function toneOf(status: number): Tone {
  if (status >= 500) return 'bad';
  return status >= 400 ? 'warn' : 'good';
}

const columnsOf = (t: Translate, formats: Formats): Column<LoggedRequest>[] => [
  timeColumn(t('at'), ({ at }) => at, 'sub'),
  { header: t('method'), width: '5.5rem', cell: ({ method }) => method },
  textColumn(t('path'), ({ path }) => path, 'lead'),
  {
    header: t('status'),
    width: '6rem',
    cardPosition: 'trail',
    cell: ({ status }) => (
      <StateBadge state="" tone={toneOf(status)}>
        {status}
      </StateBadge>
    ),
  },
  { ...textColumn(t('code'), ({ code }) => code, 'subtrail'), width: '9rem' },
  numberColumn(t('took'), '6rem', ({ durationMs }) =>
    t('ms', { count: durationMs, ms: formats.number(durationMs) }),
  ),
  { ...textColumn(t('client'), ({ clientId }) => clientId), width: '10rem' },
  { ...textColumn(t('request'), ({ requestId }) => requestId), width: '9rem' },
];

export default function Logs() {
  const t = useTranslate('logs');
  const formats = useFormats();
  return (
    <Page title={t('title')} lead={t('lead')} fill>
      <ResourceList
        label={t('title')}
        name="logs"
        path="/logs/v1/requests"
        filters={[
          { kind: 'search', name: 'requestId', label: t('request') },
          {
            kind: 'choice',
            name: 'source',
            isAlwaysSet: true,
            label: t('source'),
            options: translatedOptions(t, 'sources', ['Api', 'Portal', 'All']),
          },
          { kind: 'choice', name: 'status', label: t('status'), options: plainOptions(statuses) },
          { kind: 'choice', name: 'method', label: t('method'), options: plainOptions(methods) },
          { kind: 'text', name: 'clientId', label: t('client') },
          { kind: 'text', name: 'code', label: t('code') },
          { kind: 'period', from: 'from', to: 'to', label: t('period') },
        ]}
        // Requests of portal pages are hidden, except in a search for one request or client.
        defaults={({ requestId, clientId }) => ({
          source: requestId === undefined && clientId === undefined ? 'Api' : 'All',
        })}
        queryFor={({ source, ...values }) =>
          withDayRange({ ...values, ...(source === 'All' ? {} : { source }) }, formats)
        }
        views="logs"
        columns={columnsOf(t, formats)}
        rowKey={({ sequence }) => String(sequence)}
        empty={{ icon: 'logs', title: t('empty.title'), text: t('empty.text') }}
      />
    </Page>
  );
}
