/** Selects the file of an import, checks it, and sets the import name. */

import { FileInput, TextInput } from '@mantine/core';
import { defined } from '@switchyard/contract';
import { downloadFile } from '../../api/download-file.ts';
import { useTranslate } from '../../locales/index.ts';
import { nowMs } from '../../session/clock.ts';
import { useFormats } from '../../session/use-session.ts';
import { exampleCsv, exampleFileName } from './example-file.ts';
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

export type ChosenFile = {
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

export function FileChooser({
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
