/** The people of the organisation or of the merchant, and the invitation of another one. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { Icon } from '../../parts/icons.tsx';
import { Page } from '../../parts/page.tsx';
import { useCan } from '../../session/use-session.ts';
import { useWords } from '../../words/index.ts';
import { Invite } from './invite.tsx';
import { UsersTable } from './users-table.tsx';

const filterNames = ['username', 'status'] as const;
const statuses = ['activated', 'deactivated'];

export default function Users() {
  const t = useWords('users');
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
      <UsersTable listKey={['users', values]} query={values} isWhole />
      {isInviting && <Invite onClose={() => setInviting(false)} />}
    </Page>
  );
}
