/** The sessions of a user, and their end. */
import { Button, Table } from '@mantine/core';
import type { UserSession } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { EmptyState, Panel } from '../../components/layout/page.tsx';
import { QueryContent } from '../../components/layout/query-content.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { useUsersUrl } from './users-url.ts';

export function UserSessions({ userId }: { readonly userId: string }) {
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
