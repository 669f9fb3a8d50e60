/** The list of imports of the last 30 days, newest first. */
import { Button } from '@mantine/core';
import type { BulkImport } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { Icon } from '../../components/icon.tsx';
import { EmptyState, Page } from '../../components/layout/page.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats, useHasPermission } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { useEstateChangeCount } from '../estate/versioned-entities.ts';
import { ImportStateBadge } from './import-state-badge.tsx';

function useColumns(t: Translate): Column<BulkImport>[] {
  const formats = useFormats();
  const figure = (name: 'lines' | 'created' | 'failed'): Column<BulkImport> => ({
    id: name,
    header: t(`counts.${name}`),
    width: '7rem',
    align: 'end',
    ...(name === 'lines' ? { cardPosition: 'trail' as const } : {}),
    cell: (row) => formats.number(row[name]),
  });
  return [
    {
      id: 'name',
      header: t('name.label'),
      cardPosition: 'lead',
      cell: ({ bulkId }) => <TruncatedName>{bulkId}</TruncatedName>,
    },
    {
      id: 'begun',
      header: t('begun'),
      width: '10.5rem',
      cardPosition: 'sub',
      cell: ({ createdAt }) => <DateTime at={createdAt} />,
    },
    {
      id: 'format',
      header: t('format'),
      width: '8rem',
      cell: ({ format }) => t(`formats.${format}`),
    },
    figure('lines'),
    figure('created'),
    figure('failed'),
    {
      id: 'state',
      header: t('state'),
      width: '10rem',
      cardPosition: 'subtrail',
      cell: ({ state }) => <ImportStateBadge state={state} />,
    },
  ];
}

export default function Imports() {
  const t = useTranslate('imports');
  const mayImport = useHasPermission('prov.write');
  const changes = useEstateChangeCount();
  const columns = useColumns(t);
  const begin = (
    <Button component={Link} to="/imports/new" leftSection={<Icon name="plus" size={16} />}>
      {t('new.title')}
    </Button>
  );
  return (
    <Page title={t('title')} lead={t('lead')} {...(mayImport ? { actions: begin } : {})} fill>
      <DataTable
        label={t('title')}
        listKey={['estate', 'imports', changes]}
        read={(cursor, signal) =>
          api.get<RowsPage<BulkImport>>(estateApiUrls.imports, {
            query: { cursor, limit: 200 },
            signal,
          })
        }
        columns={columns}
        rowKey={({ bulkId }) => bulkId}
        rowTo={({ bulkId }) => `/imports/${encodeURIComponent(bulkId)}`}
        empty={
          <EmptyState icon="imports" title={t('empty.title')}>
            {t('empty.text')}
          </EmptyState>
        }
      />
    </Page>
  );
}
