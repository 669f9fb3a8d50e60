/** The list of imports of the last 30 days, newest first. */
import { Button } from '@mantine/core';
import type { BulkImport } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { Icon } from '../../components/icon.tsx';
import { Page } from '../../components/layout/page.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats, useHasPermission } from '../../session/use-session.ts';
import { numberColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import type { CardPosition, Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { ImportStateBadge } from './import-state-badge.tsx';

function useColumns(t: Translate): Column<BulkImport>[] {
  const formats = useFormats();
  const count = (name: 'lines' | 'created' | 'failed', cardPosition?: CardPosition) =>
    numberColumn<BulkImport>(
      t(`counts.${name}`),
      '7rem',
      (row) => formats.number(row[name]),
      cardPosition,
    );
  return [
    textColumn(t('name.label'), ({ bulkId }) => bulkId, 'lead'),
    timeColumn(t('begun'), ({ createdAt }) => createdAt, 'sub'),
    { header: t('format'), width: '8rem', cell: ({ format }) => t(`formats.${format}`) },
    count('lines', 'trail'),
    count('created'),
    count('failed'),
    {
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
  const begin = (
    <Button component={Link} to="/imports/new" leftSection={<Icon name="plus" size={16} />}>
      {t('new.title')}
    </Button>
  );
  return (
    <Page title={t('title')} lead={t('lead')} actions={mayImport && begin} fill>
      <ResourceList
        label={t('title')}
        name="estate"
        path={estateApiUrls.imports}
        columns={useColumns(t)}
        rowKey={({ bulkId }) => bulkId}
        rowTo={({ bulkId }) => `/imports/${encodeURIComponent(bulkId)}`}
        empty={{ icon: 'imports', title: t('empty.title'), text: t('empty.text') }}
      />
    </Page>
  );
}
