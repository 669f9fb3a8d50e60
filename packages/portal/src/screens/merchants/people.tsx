/** Those who work for a merchant and can sign in. */
import type { UserView } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import { EmptyState } from '../../parts/page.tsx';
import { StateBadge } from '../../parts/state-badge.tsx';
import { Name } from '../../parts/values.tsx';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { Page as RowsPage } from '../../table/row-store.ts';
import { useWords, type Words } from '../../words/index.ts';
import { groupOf, nameOf } from '../users/list.tsx';
import { useUsersAddress } from '../users/users-address.ts';

function columnsOf(t: Words): Column<UserView>[] {
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
    {
      id: 'status',
      header: t('status'),
      width: '9rem',
      narrow: 'trail',
      cell: ({ status }) => <StateBadge state={status}>{t(`statuses.${status}`)}</StateBadge>,
    },
  ];
}

export function MerchantPeople({ merchantId }: { readonly merchantId: string }) {
  const t = useWords('users');
  const address = useUsersAddress();
  return (
    <DataTable
      label={t('title')}
      listKey={['users', 'of', merchantId]}
      read={(cursor, signal) =>
        api.get<RowsPage<UserView>>(address, {
          query: { entityId: merchantId, cursor, limit: 200 },
          signal,
        })
      }
      columns={columnsOf(t)}
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
