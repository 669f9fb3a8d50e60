/** People who can sign in, in one table: of the organisation, or of a merchant. */
import type { UserView } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import { EmptyState } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { Name, Time } from '../../components/values/values.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { Page as RowsPage } from '../../table/row-store.ts';
import { useUsersAddress } from './users-url.ts';

/** `019…_org_admin` is `org_admin`. */
export const groupOf = (name: string): string => name.slice(name.indexOf('_') + 1);

export const nameOf = ({ givenName, familyName }: UserView): string | undefined =>
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
    cell: ({ createdAt }) => <Time at={createdAt} />,
  };
  return [
    {
      id: 'username',
      header: t('username'),
      narrow: 'lead',
      cell: ({ username }) => <Name>{username}</Name>,
    },
    { id: 'name', header: t('name'), cell: (user) => <Name>{nameOf(user)}</Name> },
    { id: 'email', header: t('email'), narrow: 'sub', cell: ({ email }) => <Name>{email}</Name> },
    {
      id: 'groups',
      header: t('groups'),
      cell: ({ groups }) => (
        <Name>{groups.map((group) => t(`groupNames.${groupOf(group)}`)).join(', ')}</Name>
      ),
    },
    ...(isWhole ? [factor] : []),
    {
      id: 'status',
      header: t('status'),
      width: '9rem',
      narrow: 'trail',
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
  /** With the second factor and the day on which each came. */
  readonly isWhole?: boolean;
}) {
  const t = useTranslate('users');
  const address = useUsersAddress();
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
