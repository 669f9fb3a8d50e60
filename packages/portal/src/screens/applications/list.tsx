/** The list of applications of the user domain. */
import { Button } from '@mantine/core';
import type { Application } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { Icon } from '../../components/icon.tsx';
import { EmptyState, Page } from '../../components/layout/page.tsx';
import { EntityName, useEntityNames } from '../../components/values/entity-name.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { FilterBar, type FilterField } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';
import { applicationKindOf } from './application-kinds.ts';
import { useApplicationsApiUrl, useRoles } from './application-queries.ts';

const filterNames = ['name', 'type', 'status', 'entityId'] as const;

function columnsOf(
  t: Translate,
  titles: ReadonlyMap<string, string>,
  organizationId: string,
): Column<Application>[] {
  return [
    {
      id: 'name',
      header: t('name'),
      cardPosition: 'lead',
      cell: ({ name }) => <TruncatedName>{name}</TruncatedName>,
    },
    {
      id: 'clientId',
      header: t('clientId'),
      cardPosition: 'sub',
      cell: ({ clientId }) => <TruncatedName>{clientId}</TruncatedName>,
    },
    {
      id: 'kind',
      header: t('kind'),
      width: '11rem',
      cell: (each) => t(`kinds.${applicationKindOf(each)}`),
    },
    {
      id: 'roles',
      header: t('roles'),
      cell: ({ roles }) => (
        <TruncatedName>{roles.map((role) => titles.get(role) ?? role).join(', ')}</TruncatedName>
      ),
    },
    {
      id: 'entity',
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
      id: 'lastUsed',
      header: t('lastUsed'),
      width: '10.5rem',
      cardPosition: 'subtrail',
      cell: ({ lastUsedAt }) =>
        lastUsedAt === undefined ? t('never') : <DateTime at={lastUsedAt} />,
    },
    {
      id: 'status',
      header: t('status'),
      width: '7.5rem',
      cardPosition: 'trail',
      cell: ({ status }) => <StateBadge state={status}>{t(`statusNames.${status}`)}</StateBadge>,
    },
  ];
}

function useFields(t: Translate): FilterField<(typeof filterNames)[number]>[] {
  const { organizationId, merchantId } = useSession();
  const merchants = useEntityNames('merchants', merchantId === undefined).data;
  const choices = (name: 'type' | 'status', values: readonly string[]) =>
    ({
      kind: 'choice',
      name,
      label: t(name),
      options: values.map((value) => ({ value, label: t(`${name}Names.${value}`) })),
    }) as const;
  return [
    { kind: 'search', name: 'name', label: t('search') },
    choices('type', ['Application', 'CloudApiApplication']),
    choices('status', ['Enabled', 'Disabled', 'PendingApproval']),
    ...(merchants === undefined
      ? []
      : [
          {
            kind: 'choice',
            name: 'entityId',
            label: t('entity'),
            options: [
              { value: organizationId, label: t('organization') },
              ...[...merchants].map(([value, label]) => ({ value, label })),
            ],
          } as const,
        ]),
  ];
}

export default function Applications() {
  const t = useTranslate('applications');
  const address = useApplicationsApiUrl();
  const mayWrite = useHasPermission('app.write');
  const { organizationId } = useSession();
  const { data: roles } = useRoles();
  const titles = new Map(roles?.roles.map(({ role, title }) => [role as string, title]));
  const [values, change] = useFilters(filterNames);
  const create = (
    <Button component={Link} to="/applications/new" leftSection={<Icon name="plus" size={16} />}>
      {t('create.title')}
    </Button>
  );
  return (
    <Page title={t('title')} lead={t('lead')} {...(mayWrite ? { actions: create } : {})} fill>
      <FilterBar fields={useFields(t)} values={values} onChange={change} />
      <DataTable
        label={t('title')}
        listKey={['applications', values]}
        read={(cursor, signal) =>
          api.get<RowsPage<Application>>(address, {
            query: { ...values, cursor, limit: 200 },
            signal,
          })
        }
        columns={columnsOf(t, titles, organizationId)}
        rowKey={({ clientId }) => clientId}
        rowTo={({ clientId }) => `/applications/${clientId}`}
        empty={
          <EmptyState icon="applications" title={t('empty.title')}>
            {t('empty.text')}
          </EmptyState>
        }
      />
    </Page>
  );
}
