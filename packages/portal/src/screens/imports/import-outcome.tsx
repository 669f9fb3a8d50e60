/** Shows the result of an import: counts, errors by line, and the results as a file. */
import { Button } from '@mantine/core';
import type { BulkResult } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { downloadFile } from '../../api/download-file.ts';
import { Icon } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Note } from '../../components/layout/note.tsx';
import { Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { resultsAsCsv } from './result-stream.ts';
import { CountTiles, pagesOf, ResultTable } from './result-table.tsx';
import type { ImportStage } from './use-import.ts';
import './imports.css';

type Done = Extract<ImportStage, { readonly at: 'done' }>;
type Broken = Extract<ImportStage, { readonly at: 'broken' }>;

const isFailed = ({ status }: BulkResult) => status === 'failed';

function save(results: readonly BulkResult[], bulkId: string): void {
  const file = new Blob(['\ufeff', resultsAsCsv(results)], { type: 'text/csv' });
  void downloadFile(new Response(file), `${bulkId}-answers.csv`);
}

export function ImportOutcomePanel({
  stage,
  bulkId,
  onAgain,
}: {
  readonly stage: Done | Broken;
  readonly bulkId: string;
  /** Sends the same file again with the same name. */
  readonly onAgain: () => void;
}) {
  const t = useTranslate('imports');
  if (stage.at === 'broken') {
    return (
      <>
        <ErrorMessage fault={stage.fault} onRetry={onAgain} />
        {!stage.isTrial && <p className="sy-nothing">{t('broken')}</p>}
      </>
    );
  }
  return <Finished stage={stage} bulkId={bulkId} onAgain={onAgain} />;
}

function Finished({
  stage: { isTrial, results, summary, run },
  bulkId,
  onAgain,
}: {
  readonly stage: Done;
  readonly bulkId: string;
  readonly onAgain: () => void;
}) {
  const t = useTranslate('imports');
  const failed = results.filter(isFailed);
  const hasSecrets = results.some(({ clientSecret }) => clientSecret !== undefined);
  const isWhole = summary.state === 'Completed';
  const title = isTrial ? 'try.done' : isWhole ? 'send.done' : 'send.stopped';
  return (
    <>
      <Panel
        title={t(title)}
        actions={
          <>
            <Button
              variant="default"
              size="xs"
              leftSection={<Icon name="exports" size={15} />}
              onClick={() => save(results, bulkId)}
            >
              {t('save')}
            </Button>
            {!isTrial && (
              <Button variant="default" size="xs" component={Link} to={`/imports/${bulkId}`}>
                {t('open')}
              </Button>
            )}
          </>
        }
      >
        <div className="sy-import-fields">
          {isTrial && <Note>{t(failed.length === 0 ? 'try.good' : 'try.bad')}</Note>}
          {hasSecrets && <Note tone="warn">{t('secrets')}</Note>}
          {!isWhole && (
            <Note tone="warn" icon="alert">
              {summary.error?.detail ?? t('broken')}{' '}
              {!isTrial && (
                <button type="button" className="sy-link-button" onClick={onAgain}>
                  {t('goOn.do')}
                </button>
              )}
            </Note>
          )}
          <CountTiles counts={summary} />
        </div>
      </Panel>
      {failed.length > 0 && (
        <div className="sy-import-answers">
          <ResultTable listKey={['import-run', bulkId, run]} read={pagesOf(failed)} />
        </div>
      )}
    </>
  );
}
