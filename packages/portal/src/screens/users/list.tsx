/** The people of the organisation or of the merchant, and the invitation of another one. */
import { Button } from '@mantine/core';
import type { UserView } from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { Icon } from '../../parts/icons.tsx';
import { EmptyState, Page } from '../../parts/page.tsx';
import { StateBadge } from '../../parts/state-badge.tsx';
import { Name, Time } from '../../parts/values.tsx';
import { useCan } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { Page as RowsPage } from '../../table/row-store.ts';
import { useWords, type Words } from '../../words/index.ts';
import { Invite } from './invite.tsx';
import { useUsersAddress } from './users-address.ts';

const filterNames = ['username', 'status'] as const;
const statuses = ['activated', 'deactivated'];

/** `019…_org_admin` is `org_admin`. */
export const groupOf = (name: string): string => name.slice(name.indexOf('_') + 1);

export const nameOf = ({ givenName, familyName }: UserView): string | undefined =>
  [givenName, familyName].filter((part) => part !== undefined).join(' ') || undefined;

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
      id: 'factor',
      header: t('secondFactor'),
      width: '9rem',
      cell: ({ secondFactor }) => t(`factors.${secondFactor}`),
    },
    {
      id: 'status',
      header: t('status'),
      width: '9rem',
      narrow: 'trail',
      cell: ({ status }) => <StateBadge state={status}>{t(`statuses.${status}`)}</StateBadge>,
    },
    {
      id: 'created',
      header: t('created'),
      width: '10.5rem',
      cell: ({ createdAt }) => <Time at={createdAt} />,
    },
  ];
}

export default function Users() {
  const t = useWords('users');
  const address = useUsersAddress();
  const mayInvite = useCan('um.write');
  const [values, change] = useFilters(filterNames);
  const [isInviting, setInviting] = useState(false);
  const invite = (
    <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setInviting(true)}>
      {t('invite.title')}
    </Button>
  );
  return (
    <Page title={t('title')} {...(mayInvite ? { actions: invite } : {})} fill>
      <FilterBar
        fields={[
          { kind: 'search', name: 'username', label: t('search') },
          {
            kind: 'choice',
            name: 'status',
            label: t('status'),
            options: statuses.map((each) => ({ value: each, label: t(`statuses.${each}`) })),
          },
        ]}
        values={values}
        onChange={change}
      />
      <DataTable
        label={t('title')}
        listKey={['users', values]}
        read={(cursor, signal) =>
          api.get<RowsPage<UserView>>(address, { query: { ...values, cursor, limit: 200 }, signal })
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
      {isInviting && <Invite onClose={() => setInviting(false)} />}
    </Page>
  );
}
