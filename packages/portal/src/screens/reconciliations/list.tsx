/** The list of reconciliations with open decisions. */
import { Button } from '@mantine/core';
import type { Reconciliation } from '@switchyard/contract';
import { useState } from 'react';
import { Icon } from '../../components/icon.tsx';
import { Page } from '../../components/layout/page.tsx';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { nameOptions, translatedOptions } from '../../filters/filter-options.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats, useHasPermission } from '../../session/use-session.ts';
import { nameColumn, numberColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';
import { OpenCountBadge } from './open-count-badge.tsx';
import { UploadDialog } from './upload-dialog.tsx';

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
