/** The actions on a user: activate, deactivate, reset the password or the second factor. */
import type { UserView } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ActionMenu } from '../../components/action-menu.tsx';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { discardLists } from '../../table/row-store-cache.ts';
import { useUsersUrl } from './users-url.ts';

type UserAction = 'activate' | 'deactivate' | 'password' | 'factor';

export function UserActions({ user }: { readonly user: UserView }) {
  const t = useTranslate('users');
  const client = useQueryClient();
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
        <ConfirmDialog
          isOpen
          isDangerous={verb === 'deactivate' || verb === 'factor'}
          onClose={() => setVerb(undefined)}
          title={t(`${verb}.title`)}
          confirm={t(`${verb}.do`)}
          run={changes[verb]}
          onDone={() => {
            showToast(t(`${verb}.done`));
            setVerb(undefined);
            discardLists('["users"');
            void client.invalidateQueries({ queryKey: ['user', user.userId] });
            void client.invalidateQueries({ queryKey: ['user-sessions', user.userId] });
          }}
        >
          <p className="sy-dialogue-text">{t(`${verb}.text`, { name: user.username })}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
