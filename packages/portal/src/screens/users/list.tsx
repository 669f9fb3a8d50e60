/** The list of users, with an invitation. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { Icon } from '../../components/icon.tsx';
import { Page } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { InviteDialog } from './invite-dialog.tsx';
import { UsersTable } from './users-table.tsx';

export default function Users() {
  const t = useTranslate('users');
  const mayInvite = useHasPermission('um.write');
  const [isInviting, setInviting] = useState(false);
  const invite = (
    <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setInviting(true)}>
      {t('invite.title')}
    </Button>
  );
  return (
    <Page title={t('title')} actions={mayInvite && invite} fill>
      <UsersTable />
      {isInviting && <InviteDialog onClose={() => setInviting(false)} />}
    </Page>
  );
}
