/** The page of an import: progress, results by line, and how to continue it. */
import { Button } from '@mantine/core';
import type { BulkImport, BulkResult } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { downloadFile } from '../../api/download-file.ts';
import { usePathParam } from '../../app/url-params.ts';
import { Icon } from '../../components/icon.tsx';
import { Note } from '../../components/layout/note.tsx';
import { DescriptionList, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { timeItem } from '../../components/values/description-items.tsx';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useFormats, useHasPermission } from '../../session/use-session.ts';
import type { RowsPage } from '../../table/row-store.ts';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { ImportProgress } from './import-progress.tsx';
import { ImportStateBadge } from './import-state-badge.tsx';
import { resultsAsCsv } from './result-stream.ts';
import { CountTiles, ResultTable } from './result-table.tsx';
import { readResults } from './run-import.ts';

const askAgainMs = 1_500;
const filterNames = ['status'] as const;
const resultStatuses = ['failed', 'created', 'replaced', 'unchanged', 'deleted'];

function SaveAnswers({ bulkId }: { readonly bulkId: string }) {
  const t = useTranslate('imports');
  const [isReading, setReading] = useState(false);
  async function save(): Promise<void> {
    setReading(true);
    try {
      const results = await readResults(bulkId);
      const file = new Blob(['\ufeff', resultsAsCsv(results)], { type: 'text/csv' });
      await downloadFile(new Response(file), `${bulkId}-answers.csv`);
    } catch {
      showToast(t('saveFailed'), 'bad');
    } finally {
      setReading(false);
    }
  }
  return (
    <Button
      variant="default"
      loading={isReading}
      leftSection={<Icon name="exports" size={16} />}
      onClick={() => void save()}
    >
      {t('save')}
    </Button>
  );
}

/** The result of each line, with a filter for failed lines. */
function Answers({ bulkId, lines }: { readonly bulkId: string; readonly lines: number }) {
  const t = useTranslate('imports');
  const [values, change] = useFilters(filterNames);
  return (
    <>
      <FilterBar
        fields={[
          {
            kind: 'choice',
            name: 'status',
            label: t('state'),
            options: resultStatuses.map((each) => ({ value: each, label: t(`results.${each}`) })),
          },
        ]}
        values={values}
        onChange={change}
      />
      <ResultTable
        listKey={['estate', 'import-results', bulkId, lines, values]}
        read={(cursor, signal) =>
          api.get<RowsPage<BulkResult>>(`${estateApiUrls.imports}/${bulkId}/results`, {
            query: { ...values, cursor, limit: 200 },
            signal,
          })
        }
      />
    </>
  );
}

function ImportFacts({ bulkImport }: { readonly bulkImport: BulkImport }) {
  const t = useTranslate('imports');
  const formats = useFormats();
  const { format, lines, bytes, createdAt, completedAt } = bulkImport;
  const size = formats.number(bytes / 1_024, { maximumFractionDigits: 0 });
  return (
    <Panel>
      <DescriptionList
        items={[
          [t('format'), t(`formats.${format}`)],
          [t('counts.lines'), formats.number(lines)],
          [t('size'), t('kilobytes', { size })],
          timeItem(t('begun'), createdAt),
          timeItem(t('ended'), completedAt),
        ]}
      />
    </Panel>
  );
}

export default function ImportPage() {
  const t = useTranslate('imports');
  const mayImport = useHasPermission('prov.write');
  const bulkId = usePathParam('bulkId');
  const address = `${estateApiUrls.imports}/${bulkId}`;
  const query = useQuery({
    queryKey: ['estate', 'import', bulkId],
    queryFn: ({ signal }) => api.get<BulkImport>(address, { signal }),
    refetchInterval: ({ state: { data } }) => (data?.state === 'Running' ? askAgainMs : false),
  });
  const backLink = { to: '/imports', label: t('title') };
  if (query.data === undefined)
    return <PendingPage query={query} title={t('one')} backLink={backLink} />;
  const { state, lines, error } = query.data;
  return (
    <Page
      title={bulkId}
      aside={<ImportStateBadge state={state} />}
      backLink={backLink}
      actions={
        <>
          {lines > 0 && <SaveAnswers bulkId={bulkId} />}
          {mayImport && state === 'Interrupted' && (
            <Button component={Link} to="/imports/new" search={{ bulkId } as never}>
              {t('goOn.do')}
            </Button>
          )}
        </>
      }
      fill
    >
      {state === 'Running' && <ImportProgress isTrial={false} lines={lines} total={0} />}
      {state === 'Interrupted' && (
        <Note tone="warn" icon="alert">
          {error?.detail} {t('broken')}
        </Note>
      )}
      <CountTiles counts={query.data} />
      <ImportFacts bulkImport={query.data} />
      <Answers bulkId={bulkId} lines={lines} />
    </Page>
  );
}
