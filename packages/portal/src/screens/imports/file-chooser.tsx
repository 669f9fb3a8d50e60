/** Takes a file from the user, says what is wrong with it as a whole, and what the import is called. */

import { FileInput, TextInput } from '@mantine/core';
import { defined } from '@switchyard/contract';
import { saveFile } from '../../api/download-file.ts';
import { useTranslate } from '../../locales/index.ts';
import { nowMs } from '../../session/clock.ts';
import { useFormats } from '../../session/use-session.ts';
import { exampleName, exampleTable } from './example-file.ts';
import {
  bytesMost,
  type FileFault,
  faultOfFile,
  type ImportFile,
  importNameOf,
  isImportName,
  linesMost,
  readImportFile,
  textOf,
} from './parse-import-file.ts';

export type Chosen = {
  readonly file?: ImportFile;
  readonly fault?: FileFault;
  /** The file as the browser shows it in its field. */
  readonly source?: File;
  readonly bulkId: string;
};

async function read(source: File): Promise<Pick<Chosen, 'file' | 'fault'>> {
  if (source.size > bytesMost) return { fault: 'tooLarge' };
  const text = textOf(await source.arrayBuffer());
  if (text === undefined) return { fault: 'notUtf8' };
  const file = readImportFile(source.name, text);
  const fault = faultOfFile(file, new Blob([file.content]).size);
  return { file, ...defined({ fault }) };
}

export function ChooseFile({
  value,
  isFixed,
  isDisabled,
  onChange,
}: {
  readonly value: Chosen;
  /** The import has its name: it is gone on with. */
  readonly isFixed: boolean;
  readonly isDisabled: boolean;
  readonly onChange: (chosen: Chosen) => void;
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
  const limits = { lines: formats.number(linesMost), size: formats.number(bytesMost / 1_048_576) };
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
            void saveFile(new Response(new Blob([exampleTable], { type: 'text/csv' })), exampleName)
          }
        >
          {t('file.example')}
        </button>
      </div>
    </>
  );
}
