/** What came of it: figures, faults by line, and the answers as a file. */
import { Button } from '@mantine/core';
import type { BulkResult } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { saveFile } from '../../api/download-file.ts';
import { Icon } from '../../components/icon.tsx';
import { Problem } from '../../components/layout/error-message.tsx';
import { Note } from '../../components/layout/note.tsx';
import { Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { resultTable } from './result-stream.ts';
import { CountTiles, ResultTable, readFrom } from './result-table.tsx';
import type { Stage } from './use-import.ts';
import './imports.css';

type Done = Extract<Stage, { readonly at: 'done' }>;
type Broken = Extract<Stage, { readonly at: 'broken' }>;

const isFailed = ({ status }: BulkResult) => status === 'failed';

function save(results: readonly BulkResult[], bulkId: string): void {
  const file = new Blob(['\ufeff', resultTable(results)], { type: 'text/csv' });
  void saveFile(new Response(file), `${bulkId}-answers.csv`);
}

export function Outcome({
  stage,
  bulkId,
  onAgain,
}: {
  readonly stage: Done | Broken;
  readonly bulkId: string;
  /** Sends the same again, under the same name. */
  readonly onAgain: () => void;
}) {
  const t = useTranslate('imports');
  if (stage.at === 'broken') {
    return (
      <>
        <Problem fault={stage.fault} onRetry={onAgain} />
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
          <ResultTable listKey={['import-run', bulkId, run]} read={readFrom(failed)} />
        </div>
      )}
    </>
  );
}
