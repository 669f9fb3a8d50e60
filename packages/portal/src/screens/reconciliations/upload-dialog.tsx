/** The dialog that uploads a settlement file. */
import { FileInput, Select, TextInput } from '@mantine/core';
import type { Reconciliation } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { useTranslate } from '../../locales/index.ts';
import { nowMs } from '../../session/clock.ts';
import { useFormats } from '../../session/use-session.ts';
import { discardLists } from '../../table/row-store-cache.ts';

const dayMs = 86_400_000;
const limitMs = 10 * 60_000;
const inlineErrorFields = ['acquirerLinkId', 'from', 'to', 'name'];

export function UploadDialog({ onClose }: { readonly onClose: () => void }) {
  const t = useTranslate('reconciliations');
  const navigate = useNavigate();
  const links = useEntityNames('acquirer-links').data;
  const yesterday = useFormats().dayOf(nowMs() - dayMs);
  const [file, setFile] = useState<File | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const [from, setFrom] = useState(yesterday);
  const [to, setTo] = useState(yesterday);
  const [fault, setFault] = useState<unknown>(undefined);
  const faults = errorsByField(fault);
  const [first, second] = [...(links?.keys() ?? [])];
  /** If there is only one link, it is selected. */
  const link = chosen ?? (second === undefined ? (first ?? null) : null);
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t('send.title')}
      confirm={t('send.do')}
      isDisabled={file === null || link === null || from === '' || to === ''}
      inlineErrorFields={inlineErrorFields}
      onFault={setFault}
      run={(idempotencyKey) =>
        api.post<Reconciliation>('/reporting/v1/reconciliations', {
          idempotencyKey,
          file: { content: file ?? new Blob(), type: 'text/csv' },
          query: { acquirerLinkId: link, from, to, name: file?.name.slice(0, 100) },
          limitMs,
        })
      }
      onDone={({ reconciliationId }) => {
        discardLists('["reconciliations"');
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
        error={faults['name']}
        onChange={setFile}
      />
      <Select
        label={t('link')}
        data={[...(links ?? [])].map(([value, label]) => ({ value, label }))}
        value={link}
        error={faults['acquirerLinkId']}
        onChange={setChosen}
      />
      <TextInput
        type="date"
        label={t('send.from')}
        value={from}
        error={faults['from']}
        onChange={({ currentTarget }) => setFrom(currentTarget.value)}
      />
      <TextInput
        type="date"
        label={t('send.to')}
        value={to}
        error={faults['to']}
        onChange={({ currentTarget }) => setTo(currentTarget.value)}
      />
    </ConfirmDialog>
  );
}
