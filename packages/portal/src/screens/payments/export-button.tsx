/** Starts an export of the filtered payments and downloads the file. */

import { Button, Menu } from '@mantine/core';
import type { Export } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { ProblemError } from '../../api/api-errors.ts';
import { api, type Query } from '../../api/client.ts';
import { downloadExport } from '../../api/download-file.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';

type Format = Export['format'];

const base = '/reporting/v1/exports';
const askAgainMs = 1_000;
const ended: readonly Export['state'][] = ['Completed', 'Failed', 'Cancelled'];

function withoutEmpty(filters: Query): Record<string, unknown> {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));
}

export function ExportButton({ filters }: { readonly filters: Query }) {
  const t = useTranslate('payments');
  const mayExport = useHasPermission('rep.export');
  const [format, setFormat] = useState<Format | undefined>(undefined);
  const [running, setRunning] = useState<string | undefined>(undefined);
  if (!mayExport) return null;
  return (
    <>
      <Menu>
        <Menu.Target>
          <Button
            variant="default"
            loading={running !== undefined}
            leftSection={<Icon name="exports" size={16} />}
          >
            {t('export.title')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setFormat('Csv')}>CSV</Menu.Item>
          <Menu.Item onClick={() => setFormat('JsonLines')}>JSON Lines</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmDialog
        isOpen={format !== undefined}
        onClose={() => setFormat(undefined)}
        title={t('export.title')}
        confirm={t('export.order')}
        run={(clientOperationId) =>
          api.post<Export>(base, {
            body: { clientOperationId, format, transactions: withoutEmpty(filters) },
          })
        }
        onDone={({ exportId }) => {
          setFormat(undefined);
          setRunning(exportId);
        }}
      >
        <p className="sy-dialogue-text">{t('export.text')}</p>
      </ConfirmDialog>
      {running !== undefined && (
        <ExportUnderWay exportId={running} onEnd={() => setRunning(undefined)} />
      )}
    </>
  );
}

/** Polls the export; the download starts when it is ready. */
function ExportUnderWay({
  exportId,
  onEnd,
}: {
  readonly exportId: string;
  readonly onEnd: () => void;
}) {
  const t = useTranslate('payments');
  const isEnding = useRef(false);
  const { data, error } = useQuery({
    queryKey: ['exports', exportId],
    queryFn: () => api.get<Export>(`${base}/${exportId}`, { isBackground: true }),
    refetchInterval: ({ state }) =>
      state.data !== undefined && ended.includes(state.data.state) ? false : askAgainMs,
  });
  // A lost response does not stop the export; it continues after a restart of the platform.
  const isRefused = error instanceof ProblemError && !error.problem.retryable;
  const state = isRefused ? 'Failed' : data?.state;
  const fileName = data?.fileName ?? '';
  useEffect(() => {
    if (state === undefined || !ended.includes(state) || isEnding.current) return;
    isEnding.current = true;
    if (state === 'Completed') {
      downloadExport(exportId, fileName);
      showToast(t('export.done'));
    } else showToast(t('export.failed'), 'bad');
    onEnd();
  }, [state, exportId, fileName, onEnd, t]);
  return null;
}
