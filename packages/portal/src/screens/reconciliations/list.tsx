/** The list of reconciliations with open decisions. */
import { Button } from '@mantine/core';
import type { Reconciliation } from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { Icon } from '../../components/icon.tsx';
import { EmptyState, Page } from '../../components/layout/page.tsx';
import { EntityName, useEntityNames } from '../../components/values/entity-name.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats, useHasPermission } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';
import { OpenCountBadge } from './open-count-badge.tsx';
import { UploadDialog } from './upload-dialog.tsx';

const base = '/reporting/v1/reconciliations';
const filterNames = ['acquirerLinkId', 'state'] as const;
const states = ['Receiving', 'Matching', 'Completed', 'Failed'];

function useColumns(t: Translate): Column<Reconciliation>[] {
  const formats = useFormats();
  return [
    {
      id: 'created',
      header: t('created'),
      width: '10.5rem',
      cardPosition: 'sub',
      cell: ({ createdAt }) => <DateTime at={createdAt} />,
    },
    {
      id: 'name',
      header: t('name'),
      cardPosition: 'lead',
      cell: ({ name }) => <TruncatedName>{name}</TruncatedName>,
    },
    {
      id: 'link',
      header: t('link'),
      cell: ({ acquirerLinkId }) => <EntityName kind="acquirer-links" id={acquirerLinkId} />,
    },
    {
      id: 'days',
      header: t('days'),
      width: '13rem',
      cell: ({ from, to }) =>
        from === to ? formats.day(from) : `${formats.day(from)} – ${formats.day(to)}`,
    },
    {
      id: 'lines',
      header: t('lines'),
      width: '6rem',
      align: 'end',
      cell: ({ lines }) => formats.number(lines),
    },
    {
      id: 'state',
      header: t('state'),
      width: '10rem',
      cardPosition: 'subtrail',
      cell: ({ state }) => <StateBadge state={state}>{t(`states.${state}`)}</StateBadge>,
    },
    {
      id: 'open',
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
  const [values, change] = useFilters(filterNames);
  const [isSending, setSending] = useState(false);
  const columns = useColumns(t);
  const send = (
    <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setSending(true)}>
      {t('send.title')}
    </Button>
  );
  return (
    <Page title={t('title')} lead={t('lead')} {...(maySend ? { actions: send } : {})} fill>
      <FilterBar
        fields={[
          {
            kind: 'choice',
            name: 'acquirerLinkId',
            label: t('link'),
            options: [...(links ?? [])].map(([value, label]) => ({ value, label })),
          },
          {
            kind: 'choice',
            name: 'state',
            label: t('state'),
            options: states.map((state) => ({ value: state, label: t(`states.${state}`) })),
          },
        ]}
        values={values}
        onChange={change}
      />
      <DataTable
        label={t('title')}
        listKey={['reconciliations', values]}
        read={(cursor, signal) =>
          api.get<RowsPage<Reconciliation>>(base, {
            query: { ...values, cursor, limit: 200 },
            signal,
          })
        }
        columns={columns}
        rowKey={({ reconciliationId }) => reconciliationId}
        rowTo={({ reconciliationId }) => `/reconciliations/${reconciliationId}`}
        empty={
          <EmptyState icon="settlements" title={t('empty.title')}>
            {t('empty.text')}
          </EmptyState>
        }
      />
      {isSending && <UploadDialog onClose={() => setSending(false)} />}
    </Page>
  );
}
