/** The table of users, of the organisation or of a merchant. */
import type { UserView } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import { EmptyState } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';
import { useUsersUrl } from './users-url.ts';

/** `019…_org_admin` becomes `org_admin`. */
export const groupRoleOf = (name: string): string => name.slice(name.indexOf('_') + 1);

export const userName = ({ givenName, familyName }: UserView): string | undefined =>
  [givenName, familyName].filter((part) => part !== undefined).join(' ') || undefined;

function columnsOf(t: Translate, isWhole: boolean): Column<UserView>[] {
  const factor: Column<UserView> = {
    id: 'factor',
    header: t('secondFactor'),
    width: '9rem',
    cell: ({ secondFactor }) => t(`factors.${secondFactor}`),
  };
  const created: Column<UserView> = {
    id: 'created',
    header: t('created'),
    width: '10.5rem',
    cell: ({ createdAt }) => <DateTime at={createdAt} />,
  };
  return [
    {
      id: 'username',
      header: t('username'),
      cardPosition: 'lead',
      cell: ({ username }) => <TruncatedName>{username}</TruncatedName>,
    },
    {
      id: 'name',
      header: t('name'),
      cell: (user) => <TruncatedName>{userName(user)}</TruncatedName>,
    },
    {
      id: 'email',
      header: t('email'),
      cardPosition: 'sub',
      cell: ({ email }) => <TruncatedName>{email}</TruncatedName>,
    },
    {
      id: 'groups',
      header: t('groups'),
      cell: ({ groups }) => (
        <TruncatedName>
          {groups.map((group) => t(`groupNames.${groupRoleOf(group)}`)).join(', ')}
        </TruncatedName>
      ),
    },
    ...(isWhole ? [factor] : []),
    {
      id: 'status',
      header: t('status'),
      width: '9rem',
      cardPosition: 'trail',
      cell: ({ status }) => <StateBadge state={status}>{t(`statuses.${status}`)}</StateBadge>,
    },
    ...(isWhole ? [created] : []),
  ];
}

export function UsersTable({
  listKey,
  query,
  isWhole = false,
}: {
  readonly listKey: readonly unknown[];
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Adds the columns second factor and creation date. */
  readonly isWhole?: boolean;
}) {
  const t = useTranslate('users');
  const address = useUsersUrl();
  return (
    <DataTable
      label={t('title')}
      listKey={listKey}
      read={(cursor, signal) =>
        api.get<RowsPage<UserView>>(address, { query: { ...query, cursor, limit: 200 }, signal })
      }
      columns={columnsOf(t, isWhole)}
      rowKey={({ userId }) => userId}
      rowTo={({ userId }) => `/users/${userId}`}
      empty={
        <EmptyState icon="users" title={t('empty.title')}>
          {t('empty.text')}
        </EmptyState>
      }
    />
  );
}
