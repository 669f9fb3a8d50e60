/** The list of reconciliations with open decisions. */
import { Button, FileInput } from '@mantine/core';
import type { Reconciliation } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, type Query } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import type { Field } from '../../components/forms/form-fields.ts';
import { FormInputs, useForm } from '../../components/forms/use-form.tsx';
import { Icon } from '../../components/icon.tsx';
import { Page } from '../../components/layout/page.tsx';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { nameOptions, translatedOptions } from '../../filters/filter-options.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { nowMs } from '../../session/clock.ts';
import { useFormats, useHasPermission } from '../../session/use-session.ts';
import { nameColumn, numberColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';

const states = ['Receiving', 'Matching', 'Completed', 'Failed'];

function useColumns(t: Translate): Column<Reconciliation>[] {
  const formats = useFormats();
  return [
    timeColumn(t('created'), ({ createdAt }) => createdAt, 'sub'),
    textColumn(t('fields.name'), ({ name }) => name, 'lead'),
    nameColumn(
      t('fields.acquirerLinkId'),
      'acquirer-links',
      ({ acquirerLinkId }) => acquirerLinkId,
    ),
    {
      header: t('days'),
      width: '13rem',
      cell: ({ from, to }) =>
        from === to ? formats.day(from) : `${formats.day(from)} – ${formats.day(to)}`,
    },
    numberColumn(t('lines'), '6rem', ({ lines }) => formats.number(lines)),
    {
      header: t('state'),
      width: '10rem',
      cardPosition: 'subtrail',
      cell: ({ state }) => <StateBadge state={state}>{t(`states.${state}`)}</StateBadge>,
    },
    {
      header: t('open'),
      width: '8rem',
      align: 'end',
      cardPosition: 'trail',
      cell: ({ open }) => <OpenCountBadge open={open} />,
    },
  ];
}

export default function Reconciliations() {
  const t = useTranslate('reconciliations');
  const maySend = useHasPermission('rep.export');
  const links = useEntityNames('acquirer-links').data;
  const [isSending, setSending] = useState(false);
  const send = (
    <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setSending(true)}>
      {t('send.title')}
    </Button>
  );
  return (
    <Page title={t('title')} lead={t('lead')} actions={maySend && send} fill>
      <ResourceList
        label={t('title')}
        name="reconciliations"
        path="/reporting/v1/reconciliations"
        filters={[
          {
            kind: 'choice',
            name: 'acquirerLinkId',
            label: t('fields.acquirerLinkId'),
            options: nameOptions(links),
          },
          {
            kind: 'choice',
            name: 'state',
            label: t('state'),
            options: translatedOptions(t, 'states', states),
          },
        ]}
        columns={useColumns(t)}
        rowKey={({ reconciliationId }) => reconciliationId}
        rowTo={({ reconciliationId }) => `/reconciliations/${reconciliationId}`}
        empty={{ icon: 'settlements', title: t('empty.title'), text: t('empty.text') }}
      />
      {isSending && <UploadDialog onClose={() => setSending(false)} />}
    </Page>
  );
}

function OpenCountBadge({ open }: { readonly open: number }) {
  const formats = useFormats();
  return (
    <StateBadge state="" tone={open === 0 ? 'good' : 'warn'}>
      {formats.number(open)}
    </StateBadge>
  );
}

const dayMs = 86_400_000;
const limitMs = 10 * 60_000;

function UploadDialog({ onClose }: { readonly onClose: () => void }) {
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
