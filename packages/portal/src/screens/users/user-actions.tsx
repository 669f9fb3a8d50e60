/** What an administrator may do with a person: let in or keep out, and begin anew with the proofs. */
import type { UserView } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { VerbMenu } from '../../components/action-menu.tsx';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { forgetLists } from '../../table/row-store-cache.ts';
import { useUsersAddress } from './users-url.ts';

type Verb = 'activate' | 'deactivate' | 'password' | 'factor';

export function UserActions({ user }: { readonly user: UserView }) {
  const t = useTranslate('users');
  const client = useQueryClient();
  const address = `${useUsersAddress()}/${user.userId}`;
  const [verb, setVerb] = useState<Verb | undefined>(undefined);
  const changes: Readonly<Record<Verb, () => Promise<unknown>>> = {
    activate: () => api.put(`${address}/status`, { body: { status: 'activated' } }),
    deactivate: () => api.put(`${address}/status`, { body: { status: 'deactivated' } }),
    password: () => api.post(`${address}/reset-password`, { body: {} }),
    factor: () => api.post(`${address}/reset-second-factor`, { body: {} }),
  };
  const verbs: readonly Verb[] = [
    user.status === 'activated' ? 'deactivate' : 'activate',
    'password',
    ...(user.secondFactor === 'On' ? (['factor'] as const) : []),
  ];
  return (
    <>
      <VerbMenu
        label={t('actions')}
        verbs={verbs}
        textOf={(each) => t(`${each}.do`)}
        onChoose={setVerb}
      />
      {verb !== undefined && (
        <ConfirmAction
          isOpen
          isDangerous={verb === 'deactivate' || verb === 'factor'}
          onClose={() => setVerb(undefined)}
          title={t(`${verb}.title`)}
          confirm={t(`${verb}.do`)}
          run={changes[verb]}
          onDone={() => {
            notify(t(`${verb}.done`));
            setVerb(undefined);
            forgetLists('["users"');
            void client.invalidateQueries({ queryKey: ['user', user.userId] });
            void client.invalidateQueries({ queryKey: ['user-sessions', user.userId] });
          }}
        >
          <p className="sy-dialogue-text">{t(`${verb}.text`, { name: user.username })}</p>
        </ConfirmAction>
      )}
    </>
  );
}
