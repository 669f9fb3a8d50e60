/** The list of report exports with their status and download. */
import { ActionIcon, Button, Tooltip } from '@mantine/core';
import type { Export } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { exportUrl } from '../../api/download-file.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { Icon, type IconName } from '../../components/icon.tsx';
import { EmptyState, Page } from '../../components/layout/page.tsx';
import { QueryContent } from '../../components/layout/query-content.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime } from '../../components/values/values.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import './exports.css';

const base = '/reporting/v1/exports';
const displayLimit = 200;
const askAgainMs = 2_000;
const isOpen = ({ state }: Export) => state === 'Pending' || state === 'Running';

type ExportAction = { readonly kind: 'cancel' | 'delete'; readonly reportExport: Export };

function useExports() {
  return useQuery({
    queryKey: ['exports'],
    queryFn: ({ signal }) =>
      api.get<{ items: Export[] }>(base, { query: { limit: displayLimit }, signal }),
    refetchInterval: ({ state: { data } }) => (data?.items.some(isOpen) ? askAgainMs : false),
  });
}

export default function Exports() {
  const t = useTranslate('exports');
  const [action, setAction] = useState<ExportAction | undefined>(undefined);
  return (
    <Page title={t('title')} lead={t('lead')}>
      <QueryContent query={useExports()} lines={8}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState
              icon="exports"
              title={t('empty.title')}
              action={
                <Button component={Link} to="/payments" variant="default">
                  {t('empty.do')}
                </Button>
              }
            >
              {t('empty.text')}
            </EmptyState>
          ) : (
            <ul className="sy-exports" aria-label={t('title')}>
              {items.map((each) => (
                <ExportLine
                  key={each.exportId}
                  reportExport={each}
                  onAsk={(kind) => setAction({ kind, reportExport: each })}
                />
              ))}
            </ul>
          )
        }
      </QueryContent>
      {action !== undefined && (
        <ActionDialog
          t={t}
          action={action.kind}
          values={{ name: action.reportExport.fileName }}
          isDangerous
          run={() => change(action)}
          onClose={() => setAction(undefined)}
          onDone={() => reloadData('exports')}
        />
      )}
    </Page>
  );
}

const change = ({ kind, reportExport: { exportId } }: ExportAction): Promise<unknown> =>
  kind === 'cancel'
    ? api.post(`${base}/${exportId}/cancel`, { body: {} })
    : api.delete(`${base}/${exportId}`);

/** The filters of the export as text. */
function filtersOf({ filters }: Export, t: Translate): string {
  const filterTexts = Object.entries(filters).map(([name, value]) => `${name}: ${String(value)}`);
  return filterTexts.length === 0 ? t('all') : filterTexts.join(' · ');
}

function ExportLine({
  reportExport,
  onAsk,
}: {
  readonly reportExport: Export;
  readonly onAsk: (kind: ExportAction['kind']) => void;
}) {
  const t = useTranslate('exports');
  const formats = useFormats();
  const { state, report, format, fileName, rows, bytes, createdAt, expiresAt, exportId } =
    reportExport;
  const size = formats.number(bytes / 1_024, { maximumFractionDigits: 0 });
  return (
    <li>
      <div className="sy-export-what">
        <strong>{t(`reports.${report}`)}</strong>
        <span className="sy-export-format">{format === 'Csv' ? 'CSV' : 'JSON Lines'}</span>
        <span className="sy-export-filters sy-broken">{filtersOf(reportExport, t)}</span>
      </div>
      <div className="sy-export-state">
        <StateBadge state={state}>{t(`states.${state}`)}</StateBadge>
        <span>{t('rows', { count: rows, rows: formats.number(rows), size })}</span>
        {reportExport.failure !== undefined && <span>{t(`failures.${reportExport.failure}`)}</span>}
      </div>
      <div className="sy-export-times">
        <DateTime at={createdAt} />
        <span>
          {t('until')} <DateTime at={expiresAt} />
        </span>
      </div>
      <div className="sy-export-actions">
        {state === 'Completed' && (
          <Tooltip label={t('fetch.do')}>
            <ActionIcon
              component="a"
              href={exportUrl(exportId)}
              download={fileName}
              variant="default"
              size="lg"
              aria-label={t('fetch.do')}
            >
              <Icon name="exports" size={17} />
            </ActionIcon>
          </Tooltip>
        )}
        {isOpen(reportExport) && (
          <Action icon="ban" label={t('cancel.do')} onClick={() => onAsk('cancel')} />
        )}
        {!isOpen(reportExport) && (
          <Action icon="trash" label={t('delete.do')} onClick={() => onAsk('delete')} />
        )}
      </div>
    </li>
  );
}

function Action({
  icon,
  label,
  onClick,
}: {
  readonly icon: IconName;
  readonly label: string;
  readonly onClick: () => void;
}) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="default" size="lg" aria-label={label} onClick={onClick}>
        <Icon name={icon} size={17} />
      </ActionIcon>
    </Tooltip>
  );
}
