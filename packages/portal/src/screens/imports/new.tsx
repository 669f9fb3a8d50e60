/** The import screen: choose a file, check it, and import it. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { useSearchParams } from '../../app/url-params.ts';
import { Note } from '../../components/layout/note.tsx';
import { Page, Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { type ChosenFile, FileChooser } from './file-chooser.tsx';
import { FilePreview } from './file-preview.tsx';
import { ImportOutcomePanel } from './import-outcome.tsx';
import { ImportProgress } from './import-progress.tsx';
import { isImportName } from './parse-import-file.ts';
import { useImport } from './use-import.ts';
import './imports.css';
import '../estate/estate.css';

export default function NewImport() {
  const t = useTranslate('imports');
  const { bulkId: resumedName = '' } = useSearchParams();
  const [chosen, setChosen] = useState<ChosenFile>({ bulkId: resumedName });
  const { stage, start, reset } = useImport();
  const { file, fault, bulkId } = chosen;
  const isReady = file !== undefined && fault === undefined && isImportName(bulkId);
  const isRunning = stage.at === 'running';
  const isOver = stage.at === 'done' && !stage.isTrial;
  const send = (isTrial: boolean) => {
    if (file !== undefined) void start(file, bulkId, isTrial);
  };
  return (
    <Page
      title={t('new.title')}
      lead={t('new.lead')}
      backLink={{ to: '/imports', label: t('title') }}
    >
      {resumedName !== '' && !isOver && <Note>{t('goOn.text', { name: resumedName })}</Note>}
      <div className="sy-import">
        <Panel title={t('file.title')}>
          <div className="sy-import-fields">
            <FileChooser
              value={chosen}
              isFixed={resumedName !== ''}
              isDisabled={isRunning}
              onChange={(next) => {
                reset();
                setChosen(next);
              }}
            />
            <div className="sy-import-buttons">
              <Button
                variant="default"
                disabled={!isReady || isRunning || isOver}
                onClick={() => send(true)}
              >
                {t('try.do')}
              </Button>
              <Button
                disabled={!isReady || isRunning || isOver}
                loading={isRunning && !stage.isTrial}
                onClick={() => send(false)}
              >
                {t(resumedName === '' ? 'send.do' : 'goOn.do')}
              </Button>
            </div>
          </div>
        </Panel>
        <FilePreview file={file} />
      </div>
      {isRunning && (
        <ImportProgress isTrial={stage.isTrial} lines={stage.lines} total={file?.lines ?? 0} />
      )}
      {stage.at !== 'ready' && stage.at !== 'running' && (
        <ImportOutcomePanel stage={stage} bulkId={bulkId} onAgain={() => send(stage.isTrial)} />
      )}
    </Page>
  );
}
