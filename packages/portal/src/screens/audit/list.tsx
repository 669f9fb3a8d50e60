/** The list of audit records, with an export of all records. */
import { Button } from '@mantine/core';
import type { AuditRecord } from '@switchyard/contract';
import { useState } from 'react';
import { api, fetchResponse, type Query } from '../../api/client.ts';
import { downloadFile } from '../../api/download-file.ts';
import { Icon } from '../../components/icon.tsx';
import { EmptyState, Page } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { DateTime, ShortId, TruncatedName } from '../../components/values/values.tsx';
import { withDayRange } from '../../filters/day-range-query.ts';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';

const filterNames = ['action', 'entityId', 'from', 'to'] as const;
const exportLimitMs = 15 * 60_000;

function columnsOf(t: Translate): Column<AuditRecord>[] {
  return [
    {
      id: 'at',
      header: t('at'),
      width: '10.5rem',
      cardPosition: 'sub',
      cell: ({ at }) => <DateTime at={at} />,
    },
    {
      id: 'action',
      header: t('action'),
      cardPosition: 'lead',
      cell: ({ action }) => <TruncatedName>{action}</TruncatedName>,
    },
    {
      id: 'entity',
      header: t('entity'),
      width: '12rem',
      cardPosition: 'subtrail',
      cell: ({ entity }) => <ShortId id={entity.id} />,
    },
    {
      id: 'actor',
      header: t('actor'),
      cell: ({ actor }) => (
        <TruncatedName>{actor.kind === 'User' ? actor.subject : actor.clientId}</TruncatedName>
      ),
    },
    { id: 'kind', header: t('kind'), width: '9rem', cell: ({ actor }) => t(`kinds.${actor.kind}`) },
    {
      id: 'sequence',
      header: t('sequence'),
      width: '7rem',
      align: 'end',
      cardPosition: 'trail',
      cell: ({ sequence }) => sequence,
    },
  ];
}

export default function Audit() {
  const t = useTranslate('audit');
  const formats = useFormats();
  const [values, change] = useFilters(filterNames);
  const query = withDayRange(values, formats);
  return (
    <Page title={t('title')} lead={t('lead')} actions={<ExportAll query={query} />} fill>
      <FilterBar
        fields={[
          { kind: 'search', name: 'action', label: t('search') },
          { kind: 'text', name: 'entityId', label: t('entityId') },
          { kind: 'period', from: 'from', to: 'to', label: t('period') },
        ]}
        values={values}
        onChange={change}
        views="audit"
      />
      <DataTable
        label={t('title')}
        listKey={['audit', query]}
        read={(cursor, signal) =>
          api.get<RowsPage<AuditRecord>>('/audit/v1/records', {
            query: { ...query, cursor, limit: 200 },
            signal,
          })
        }
        columns={columnsOf(t)}
        rowKey={({ sequence }) => String(sequence)}
        rowTo={({ sequence }) => `/audit/${sequence}`}
        empty={
          <EmptyState icon="audit" title={t('empty.title')}>
            {t('empty.text')}
          </EmptyState>
        }
      />
    </Page>
  );
}

/** Exports the records as JSON Lines, so that the hash chain can be verified. */
function ExportAll({ query: { from, to } }: { readonly query: Query }) {
  const t = useTranslate('audit');
  const [isBusy, setBusy] = useState(false);
  async function run(): Promise<void> {
    setBusy(true);
    try {
      const answer = await fetchResponse('GET', '/audit/v1/export', {
        query: { from, to },
        limitMs: exportLimitMs,
      });
      await downloadFile(answer, 'audit.jsonl');
    } catch {
      showToast(t('export.failed'), 'bad');
    } finally {
      setBusy(false);
    }
  }
  return (
    <Button
      variant="default"
      loading={isBusy}
      leftSection={<Icon name="exports" size={16} />}
      onClick={() => void run()}
    >
      {t('export.do')}
    </Button>
  );
}
