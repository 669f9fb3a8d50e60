/** The list of applications of the user domain. */
import { Button } from '@mantine/core';
import type { Application } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { Icon } from '../../components/icon.tsx';
import { Page } from '../../components/layout/page.tsx';
import { EntityName, useEntityNames } from '../../components/values/entity-name.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime } from '../../components/values/values.tsx';
import type { FilterField } from '../../filters/filter-bar.tsx';
import { nameOptions, translatedOptions } from '../../filters/filter-options.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import { textColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';
import { applicationKindOf } from './application-kinds.ts';
import { useApplicationsApiUrl, useRoles } from './application-queries.ts';

const columnsOf = (
  t: Translate,
  titles: ReadonlyMap<string, string>,
  organizationId: string,
): Column<Application>[] => [
  textColumn(t('fields.name'), ({ name }) => name, 'lead'),
  textColumn(t('fields.clientId'), ({ clientId }) => clientId, 'sub'),
  {
    header: t('kind'),
    width: '11rem',
    cell: (each) => t(`kinds.${applicationKindOf(each)}`),
  },
  textColumn(t('fields.roles'), ({ roles }) =>
    roles.map((role) => titles.get(role) ?? role).join(', '),
  ),
  {
    header: t('entity'),
    width: '11rem',
    cell: ({ entityId }) =>
      entityId === organizationId ? (
        t('organization')
      ) : (
        <EntityName kind="merchants" id={entityId} />
      ),
  },
  {
    header: t('lastUsed'),
    width: '10.5rem',
    cardPosition: 'subtrail',
    cell: ({ lastUsedAt }) =>
      lastUsedAt === undefined ? t('never') : <DateTime at={lastUsedAt} />,
  },
  {
    header: t('status'),
    width: '7.5rem',
    cardPosition: 'trail',
    cell: ({ status }) => <StateBadge state={status}>{t(`statusNames.${status}`)}</StateBadge>,
  },
];

function useFilterFields(t: Translate): FilterField<string>[] {
  const { organizationId, merchantId } = useSession();
  const merchants = useEntityNames('merchants', merchantId === undefined).data;
  const organization = { value: organizationId, label: t('organization') };
  const choice = (name: 'type' | 'status', values: readonly string[]) =>
    ({
      kind: 'choice',
      name,
      label: t(name),
      options: translatedOptions(t, `${name}Names`, values),
    }) as const;
  const entity = {
    kind: 'choice',
    name: 'entityId',
    label: t('entity'),
    options: [organization, ...nameOptions(merchants)],
  } as const;
  return [
    { kind: 'search', name: 'name', label: t('search') },
    choice('type', ['Application', 'CloudApiApplication']),
    choice('status', ['Enabled', 'Disabled', 'PendingApproval']),
    ...(merchants === undefined ? [] : [entity]),
  ];
}

export default function Applications() {
  const t = useTranslate('applications');
  const path = useApplicationsApiUrl();
  const mayWrite = useHasPermission('app.write');
  const { organizationId } = useSession();
  const { data: roles } = useRoles();
  const titles = new Map(roles?.roles.map(({ role, title }) => [role as string, title]));
  const create = (
    <Button component={Link} to="/applications/new" leftSection={<Icon name="plus" size={16} />}>
      {t('create.title')}
    </Button>
  );
  return (
    <Page title={t('title')} lead={t('lead')} actions={mayWrite && create} fill>
      <ResourceList
        label={t('title')}
        name="applications"
        path={path}
        filters={useFilterFields(t)}
        columns={columnsOf(t, titles, organizationId)}
        rowKey={({ clientId }) => clientId}
        rowTo={({ clientId }) => `/applications/${clientId}`}
        empty={{ icon: 'applications', title: t('empty.title'), text: t('empty.text') }}
      />
    </Page>
  );
}
