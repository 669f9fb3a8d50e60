/** The dialog that enables an endpoint and optionally replays missed events. */
import { Checkbox } from '@mantine/core';
import type { WebhookEndpoint } from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { replaceVersioned, type Versioned } from '../../app/versioned-resources.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { endpointsUrl, statusUpdate } from './webhook-queries.ts';

export function EnableDialog({
  loaded: { body: endpoint, etag },
  onClose,
}: {
  readonly loaded: Versioned<WebhookEndpoint>;
  readonly onClose: () => void;
}) {
  const t = useTranslate('webhooks');
  const [catchesUp, setCatchesUp] = useState(endpoint.missedEvents === true);
  const path = `${endpointsUrl}/${endpoint.endpointId}`;
  const [isEnabled, setEnabled] = useState(false);
  async function enable(idempotencyKey: string): Promise<void> {
    // If only the replay failed, only the replay is repeated.
    if (!isEnabled) {
      await replaceVersioned(path, etag, statusUpdate(endpoint, 'Enabled'));
      setEnabled(true);
    }
    if (catchesUp) await api.post(`${path}/replay`, { body: {}, idempotencyKey });
  }
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t('enable.title')}
      confirm={t('enable.do')}
      run={enable}
      onDone={() => {
        reloadData('endpoints', 'endpoint', 'deliveries', 'recent-deliveries');
        showToast(t('enable.done'));
        onClose();
      }}
    >
      <p className="sy-dialogue-text">{t('enable.text')}</p>
      <Checkbox
        label={t('enable.replay')}
        description={t('enable.replayHint')}
        checked={catchesUp}
        onChange={({ currentTarget: { checked } }) => setCatchesUp(checked)}
      />
    </ConfirmDialog>
  );
}
