/** The list of audit records, with an export of all records. */
import { Button } from '@mantine/core';
import type { AuditRecord } from '@switchyard/contract';
import { useState } from 'react';
import { fetchResponse, type Query } from '../../api/client.ts';
import { downloadFile } from '../../api/download-file.ts';
import { Icon } from '../../components/icon.tsx';
import { Page } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { ShortId } from '../../components/values/values.tsx';
import { withDayRange } from '../../filters/day-range-query.ts';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { numberColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';

const exportLimitMs = 15 * 60_000;

const columnsOf = (t: Translate): Column<AuditRecord>[] => [
  timeColumn(t('at'), ({ at }) => at, 'sub'),
  textColumn(t('action'), ({ action }) => action, 'lead'),
  {
    header: t('entity'),
    width: '12rem',
    cardPosition: 'subtrail',
    cell: ({ entity }) => <ShortId id={entity.id} />,
  },
  textColumn(t('actor'), ({ actor }) =>
    actor.kind === 'Application' ? actor.clientId : actor.subject,
  ),
  { header: t('kind'), width: '9rem', cell: ({ actor }) => t(`kinds.${actor.kind}`) },
  numberColumn(t('sequence'), '7rem', ({ sequence }) => sequence, 'trail'),
];

export default function Audit() {
  const t = useTranslate('audit');
  const formats = useFormats();
  return (
    <Page title={t('title')} lead={t('lead')} actions={<ExportAll />} fill>
      <ResourceList
        label={t('title')}
        name="audit"
        path="/audit/v1/records"
        filters={[
          { kind: 'search', name: 'action', label: t('search') },
          { kind: 'text', name: 'entityId', label: t('entityId') },
          { kind: 'period', from: 'from', to: 'to', label: t('period') },
        ]}
        queryFor={(values) => withDayRange(values, formats)}
        views="audit"
        columns={columnsOf(t)}
        rowKey={({ sequence }) => String(sequence)}
        rowTo={({ sequence }) => `/audit/${sequence}`}
        empty={{ icon: 'audit', title: t('empty.title'), text: t('empty.text') }}
      />
    </Page>
  );
}

/** Exports the records of the period as JSON Lines, so that the hash chain can be verified. */
function ExportAll() {
  const t = useTranslate('audit');
  const [days] = useFilters(['from', 'to'] as const);
  const query: Query = withDayRange(days, useFormats());
  const [isBusy, setBusy] = useState(false);
  async function run(): Promise<void> {
    setBusy(true);
    try {
      const answer = await fetchResponse('GET', '/audit/v1/export', {
        query,
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
