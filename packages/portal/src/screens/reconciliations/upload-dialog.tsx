/** The dialog that uploads a settlement file. */
import { FileInput } from '@mantine/core';
import type { Reconciliation } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, type Query } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { FormInputs, useForm } from '../../components/forms/form.tsx';
import type { Field } from '../../components/forms/form-fields.ts';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { nameOptions } from '../../filters/filter-options.ts';
import { useTranslate } from '../../locales/index.ts';
import { nowMs } from '../../session/clock.ts';
import { useFormats } from '../../session/use-session.ts';

const dayMs = 86_400_000;
const limitMs = 10 * 60_000;

export function UploadDialog({ onClose }: { readonly onClose: () => void }) {
  const t = useTranslate('reconciliations');
  const navigate = useNavigate();
  const yesterday = useFormats().dayOf(nowMs() - dayMs);
  const options = nameOptions(useEntityNames('acquirer-links').data);
  const [file, setFile] = useState<File | null>(null);
  // If there is only one link, it is selected.
  const onlyLink = options.length === 1 ? (options[0]?.value ?? '') : '';
  const fields: readonly Field[] = [
    { name: 'acquirerLinkId', kind: 'choice', options, first: onlyLink, isAlwaysSet: true },
    { name: 'from', kind: 'date', first: yesterday },
    { name: 'to', kind: 'date', first: yesterday },
  ];
  const form = useForm(() => fields);
  const isIncomplete = fields.some(({ name }) => form.body[name] === undefined);
  return (
    <ConfirmDialog
      {...form.confirmProps}
      isOpen
      onClose={onClose}
      title={t('send.title')}
      confirm={t('send.do')}
      isDisabled={file === null || isIncomplete}
      inlineErrorFields={[...form.confirmProps.inlineErrorFields, 'name']}
      run={(idempotencyKey) =>
        api.post<Reconciliation>('/reporting/v1/reconciliations', {
          idempotencyKey,
          file: { content: file ?? new Blob(), type: 'text/csv' },
          query: { ...(form.body as Query), name: file?.name.slice(0, 100) },
          limitMs,
        })
      }
      onDone={({ reconciliationId }) => {
        reloadData('reconciliations');
        onClose();
        void navigate({ to: `/reconciliations/${reconciliationId}` });
      }}
    >
      <p className="sy-dialogue-text">{t('send.text')}</p>
      <FileInput
        label={t('send.file')}
        accept=".csv,text/csv"
        clearable
        value={file}
        error={form.errorOf('name')}
        onChange={setFile}
      />
      <FormInputs form={form} t={t} hasFocus={false} />
    </ConfirmDialog>
  );
}
