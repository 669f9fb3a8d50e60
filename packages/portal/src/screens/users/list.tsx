/** The list of users, with an invitation. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { Icon } from '../../components/icon.tsx';
import { Page } from '../../components/layout/page.tsx';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { InviteDialog } from './invite-dialog.tsx';
import { UsersTable } from './users-table.tsx';

const filterNames = ['username', 'status'] as const;
const statuses = ['activated', 'deactivated'];

export default function Users() {
  const t = useTranslate('users');
  const mayInvite = useHasPermission('um.write');
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
      <UsersTable listKey={['users', values]} query={values} isWhole />
      {isInviting && <InviteDialog onClose={() => setInviting(false)} />}
    </Page>
  );
}
