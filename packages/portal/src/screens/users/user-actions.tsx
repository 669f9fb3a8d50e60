/** The actions on a user: activate, deactivate, reset the password or the second factor. */
import type { UserView } from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ActionMenu } from '../../components/action-menu.tsx';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useUsersUrl } from './users-url.ts';

type UserAction = 'activate' | 'deactivate' | 'password' | 'factor';

export function UserActions({ user }: { readonly user: UserView }) {
  const t = useTranslate('users');
  const address = `${useUsersUrl()}/${user.userId}`;
  const [verb, setVerb] = useState<UserAction | undefined>(undefined);
  const changes: Readonly<Record<UserAction, () => Promise<unknown>>> = {
    activate: () => api.put(`${address}/status`, { body: { status: 'activated' } }),
    deactivate: () => api.put(`${address}/status`, { body: { status: 'deactivated' } }),
    password: () => api.post(`${address}/reset-password`, { body: {} }),
    factor: () => api.post(`${address}/reset-second-factor`, { body: {} }),
  };
  const verbs: readonly UserAction[] = [
    user.status === 'activated' ? 'deactivate' : 'activate',
    'password',
    ...(user.secondFactor === 'On' ? (['factor'] as const) : []),
  ];
  return (
    <>
      <ActionMenu
        label={t('actions')}
        actions={verbs}
        textOf={(each) => t(`${each}.do`)}
        onChoose={setVerb}
      />
      {verb !== undefined && (
        <ActionDialog
          t={t}
          action={verb}
          values={{ name: user.username }}
          isDangerous={verb === 'deactivate' || verb === 'factor'}
          run={changes[verb]}
          onClose={() => setVerb(undefined)}
          onDone={() => reloadData('users', 'user', 'user-sessions')}
        />
      )}
    </>
  );
}
