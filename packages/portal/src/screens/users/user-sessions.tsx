/** The sessions of a user, and their end. */
import { Button, Table } from '@mantine/core';
import type { UserSession } from '@switchyard/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Panel } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { useUsersUrl } from './users-url.ts';

export function UserSessions({ userId }: { readonly userId: string }) {
  const t = useTranslate('users');
  const client = useQueryClient();
  const mayEnd = useHasPermission('um.write');
  const address = `${useUsersUrl()}/${userId}/sessions`;
  const [isEnding, setEnding] = useState(false);
  const queryKey = ['user-sessions', userId];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => api.get<{ items: UserSession[] }>(address, { signal }),
  });
  const end = (
    <Button variant="default" size="compact-sm" onClick={() => setEnding(true)}>
      {t('sessions.end')}
    </Button>
  );
  const items = data?.items ?? [];
  return (
    <Panel
      title={t('sessions.title')}
      {...(mayEnd && items.length > 0 ? { actions: end } : {})}
      flush
    >
      {error !== null && <ErrorMessage fault={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Loading lines={3} />}
      {data !== undefined && items.length === 0 && (
        <EmptyState icon="key" title={t('sessions.none')} />
      )}
      {items.length > 0 && <SessionTable sessions={items} />}
      <ConfirmDialog
        isOpen={isEnding}
        isDangerous
        onClose={() => setEnding(false)}
        title={t('sessions.endTitle')}
        confirm={t('sessions.end')}
        run={() => api.delete(address)}
        onDone={() => {
          setEnding(false);
          showToast(t('sessions.ended'));
          void client.invalidateQueries({ queryKey });
        }}
      >
        <p className="sy-dialogue-text">{t('sessions.endText')}</p>
      </ConfirmDialog>
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
