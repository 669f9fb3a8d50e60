/** The table of users, of the organisation or of a merchant. */
import type { UserView } from '@switchyard/contract';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { translatedOptions } from '../../filters/filter-options.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';
import { useUsersUrl } from './user-management-api-urls.ts';

/** `019…_org_admin` becomes `org_admin`. */
export const groupRoleOf = (name: string): string => name.slice(name.indexOf('_') + 1);

export const userName = ({ givenName, familyName }: UserView): string | undefined =>
  [givenName, familyName].filter((part) => part !== undefined).join(' ') || undefined;

function columnsOf(t: Translate, isOfAll: boolean): Column<UserView>[] {
  const factor: Column<UserView> = {
    header: t('secondFactor'),
    width: '9rem',
    cell: ({ secondFactor }) => t(`factors.${secondFactor}`),
  };
  return [
    textColumn(t('fields.username'), ({ username }) => username, 'lead'),
    textColumn(t('name'), userName),
    textColumn(t('fields.email'), ({ email }) => email, 'sub'),
    textColumn(t('fields.groups'), ({ groups }) =>
      groups.map((group) => t(`groupNames.${groupRoleOf(group)}`)).join(', '),
    ),
    ...(isOfAll ? [factor] : []),
    {
      header: t('status'),
      width: '9rem',
      cardPosition: 'trail',
      cell: ({ status }) => <StateBadge state={status}>{t(`statuses.${status}`)}</StateBadge>,
    },
    ...(isOfAll ? [timeColumn(t('created'), ({ createdAt }: UserView) => createdAt)] : []),
  ];
}

/** @param merchantId if omitted, the table has all users, filters and more columns */
export function UsersTable({ merchantId }: { readonly merchantId?: string }) {
  const t = useTranslate('users');
  const path = useUsersUrl();
  const isOfAll = merchantId === undefined;
  const status = {
    kind: 'choice',
    name: 'status',
    label: t('status'),
    options: translatedOptions(t, 'statuses', ['activated', 'deactivated']),
  } as const;
  return (
    <ResourceList
      label={t('title')}
      name="users"
      path={path}
      filters={isOfAll ? [{ kind: 'search', name: 'username', label: t('search') }, status] : []}
      queryFor={(values) => (isOfAll ? values : { entityId: merchantId })}
      columns={columnsOf(t, isOfAll)}
      rowKey={({ userId }) => userId}
      rowTo={({ userId }) => `/users/${userId}`}
      empty={{ icon: 'users', title: t('empty.title'), text: t('empty.text') }}
    />
  );
}
