/** The import screen: choose a file, check it, and import it. */
import './imports.css';
import '../estate/estate.css';
import { Button, FileInput, TextInput } from '@mantine/core';
import { defined } from '@switchyard/contract';
import { useState } from 'react';
import { downloadFile } from '../../api/download-file.ts';
import { useSearchParams } from '../../app/url-params.ts';
import { Note } from '../../components/layout/note.tsx';
import { EmptyState, Page, Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { nowMs } from '../../session/clock.ts';
import { useFormats } from '../../session/use-session.ts';
import { exampleCsv, exampleFileName } from './example-file.ts';
import { ImportOutcomePanel } from './import-outcome.tsx';
import { ImportProgress } from './import-progress.tsx';
import {
  decodeUtf8,
  type FileFault,
  fileFaultOf,
  type ImportFile,
  importNameOf,
  isImportName,
  maxBytes,
  maxLines,
  parseImportFile,
} from './parse-import-file.ts';
import { useImport } from './use-import.ts';

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

const knownTypes = new Set(['merchant', 'store', 'logicalDevice', 'physicalDevice', 'pointOfSale']);

function FilePreview({ file }: { readonly file: ImportFile | undefined }) {
  const t = useTranslate('imports');
  const formats = useFormats();
  if (file === undefined) {
    return (
      <Panel title={t('preview.title')}>
        <EmptyState icon="receipt" title={t('preview.noneTitle')}>
          {t('preview.noneText')}
        </EmptyState>
      </Panel>
    );
  }
  const types = Object.entries(file.types);
  return (
    <Panel title={t('preview.title')} flush>
      <ul className="sy-import-types sy-preview-types">
        <li>{t('preview.lines', { count: file.lines })}</li>
        {types.map(([type, count]) => (
          <li key={type}>
            {knownTypes.has(type) ? t(`types.${type}`) : t('preview.unknownType')}:{' '}
            {formats.number(count)}
          </li>
        ))}
      </ul>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and holds nothing that can be reached */}
      <section className="sy-preview" tabIndex={0} aria-label={file.name}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t('line')}</th>
              {file.columns.map((column, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place; two may be named alike
                <th key={`${at} ${column}`} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {file.preview.map(({ line, cells }) => (
              <tr key={line}>
                <th scope="row">{line}</th>
                {file.columns.map((column, at) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
                  <td key={`${at} ${column}`} title={cells[at]}>
                    {cells[at]}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Panel>
  );
}

type ChosenFile = {
  readonly file?: ImportFile;
  readonly fault?: FileFault;
  /** The file object for the file input. */
  readonly source?: File;
  readonly bulkId: string;
};

async function read(source: File): Promise<Pick<ChosenFile, 'file' | 'fault'>> {
  if (source.size > maxBytes) return { fault: 'tooLarge' };
  const text = decodeUtf8(await source.arrayBuffer());
  if (text === undefined) return { fault: 'notUtf8' };
  const file = parseImportFile(source.name, text);
  const fault = fileFaultOf(file, new Blob([file.content]).size);
  return { file, ...defined({ fault }) };
}

function FileChooser({
  value,
  isFixed,
  isDisabled,
  onChange,
}: {
  readonly value: ChosenFile;
  /** True if the user continues an import, so its name is fixed. */
  readonly isFixed: boolean;
  readonly isDisabled: boolean;
  readonly onChange: (chosen: ChosenFile) => void;
}) {
  const t = useTranslate('imports');
  const formats = useFormats();
  const { file, fault, source, bulkId } = value;
  async function choose(next: File | null): Promise<void> {
    if (next === null) {
      onChange({ bulkId });
      return;
    }
    const day = formats.dayOf(nowMs());
    const name = isFixed ? bulkId : importNameOf(next.name, day);
    onChange({ ...(await read(next)), source: next, bulkId: name });
  }
  const limits = { lines: formats.number(maxLines), size: formats.number(maxBytes / 1_048_576) };
  return (
    <>
      <FileInput
        label={t('file.label')}
        description={t('file.hint', limits)}
        placeholder={t('file.choose')}
        accept=".csv,.jsonl,.ndjson,text/csv,application/jsonl"
        clearable
        disabled={isDisabled}
        clearButtonProps={{ 'aria-label': t('file.clear') }}
        value={source ?? null}
        error={fault === undefined ? undefined : t(`file.faults.${fault}`, limits)}
        onChange={(next) => void choose(next)}
      />
      {file?.wasConverted === true && <p className="sy-nothing">{t('file.semicolons')}</p>}
      <TextInput
        label={t('name.label')}
        description={t('name.hint')}
        maxLength={64}
        disabled={isDisabled || isFixed}
        value={bulkId}
        error={bulkId === '' || isImportName(bulkId) ? undefined : t('name.fault')}
        onChange={({ currentTarget }) => onChange({ ...value, bulkId: currentTarget.value })}
      />
      <div>
        <button
          type="button"
          className="sy-link-button"
          onClick={() =>
            void downloadFile(
              new Response(new Blob([exampleCsv], { type: 'text/csv' })),
              exampleFileName,
            )
          }
        >
          {t('file.example')}
        </button>
      </div>
    </>
  );
}
