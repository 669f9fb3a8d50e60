/** The page of a user: profile, groups, sessions and actions. */
import './users.css';
import { Button, Table } from '@mantine/core';
import type { UserSession, UserView } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { usePathParam } from '../../app/url-params.ts';
import { ActionMenu } from '../../components/action-menu.tsx';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { DescriptionList, EmptyState, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage, QueryContent } from '../../components/layout/query-content.tsx';
import { copyItem, timeItem } from '../../components/values/description-items.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { useUsersUrl } from './user-management-api-urls.ts';
import { groupRoleOf, userName } from './users-table.tsx';

export default function UserDetail() {
  const t = useTranslate('users');
  const userId = usePathParam('userId');
  const address = `${useUsersUrl()}/${userId}`;
  const mayWrite = useHasPermission('um.write');
  const query = useQuery({
    queryKey: ['user', userId],
    queryFn: ({ signal }) => api.get<UserView>(address, { signal }),
  });
  const { data, error } = query;
  const backLink = { to: '/users', label: t('title') };
  if (data === undefined)
    return <PendingPage query={query} title={t('user')} backLink={backLink} />;
  return (
    <Page
      title={data.username}
      aside={<StateBadge state={data.status}>{t(`statuses.${data.status}`)}</StateBadge>}
      lead={userName(data)}
      backLink={backLink}
      actions={mayWrite && <UserActions user={data} />}
    >
      {error !== null && <ErrorMessage fault={error} />}
      <div className="sy-user-columns">
        <Profile user={data} />
        <UserSessions userId={userId} />
      </div>
    </Page>
  );
}

function Profile({ user }: { readonly user: UserView }) {
  const t = useTranslate('users');
  return (
    <Panel title={t('facts')}>
      <DescriptionList
        items={[
          [t('fields.email'), user.email],
          [t('emailState'), t(user.emailVerified ? 'verified' : 'unverified')],
          [t('pendingEmail'), user.pendingEmail],
          [t('phone'), user.phoneNumber],
          [
            t('fields.groups'),
            user.groups.map((group) => t(`groupNames.${groupRoleOf(group)}`)).join(', '),
          ],
          [t('secondFactor'), t(`factors.${user.secondFactor}`)],
          [t('locale'), user.locale],
          [t('zone'), user.zoneinfo],
          timeItem(t('created'), user.createdAt),
          copyItem(t('identifier'), user.userId),
        ]}
      />
    </Panel>
  );
}

type UserAction = 'activate' | 'deactivate' | 'password' | 'factor';

function UserActions({ user }: { readonly user: UserView }) {
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

function UserSessions({ userId }: { readonly userId: string }) {
  const t = useTranslate('users');
  const mayEnd = useHasPermission('um.write');
  const address = `${useUsersUrl()}/${userId}/sessions`;
  const [isEnding, setEnding] = useState(false);
  const query = useQuery({
    queryKey: ['user-sessions', userId],
    queryFn: ({ signal }) => api.get<{ items: UserSession[] }>(address, { signal }),
  });
  const end = (
    <Button variant="default" size="compact-sm" onClick={() => setEnding(true)}>
      {t('endSessions.do')}
    </Button>
  );
  const hasSessions = (query.data?.items.length ?? 0) > 0;
  return (
    <Panel title={t('sessions.title')} actions={mayEnd && hasSessions && end} flush>
      <QueryContent query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon="key" title={t('sessions.none')} />
          ) : (
            <SessionTable sessions={items} />
          )
        }
      </QueryContent>
      {isEnding && (
        <ActionDialog
          t={t}
          action="endSessions"
          isDangerous
          run={() => api.delete(address)}
          onClose={() => setEnding(false)}
          onDone={() => reloadData('user-sessions')}
        />
      )}
    </Panel>
  );
}

function SessionTable({ sessions }: { readonly sessions: readonly UserSession[] }) {
  const t = useTranslate('users');
  return (
    <Table>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('sessions.kind')}</Table.Th>
          <Table.Th>{t('sessions.at')}</Table.Th>
          <Table.Th>{t('sessions.since')}</Table.Th>
          <Table.Th>{t('sessions.seen')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {sessions.map(({ sessionId, kind, clientIds, signedInAt, lastSeenAt }) => (
          <Table.Tr key={sessionId}>
            <Table.Td>{t(`sessions.kinds.${kind}`)}</Table.Td>
            <Table.Td>
              <TruncatedName>{clientIds.join(', ')}</TruncatedName>
            </Table.Td>
            <Table.Td>
              <DateTime at={signedInAt} />
            </Table.Td>
            <Table.Td>
              <DateTime at={lastSeenAt} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
