/** The dialog that enables an endpoint and optionally replays missed events. */

import { Checkbox } from '@mantine/core';
import { defined } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { discardLists } from '../../table/row-store-cache.ts';
import { endpointsUrl, type LoadedEndpoint } from './webhook-queries.ts';

export function EnableDialog({
  loaded: { endpoint, etag },
  onClose,
}: {
  readonly loaded: LoadedEndpoint;
  readonly onClose: () => void;
}) {
  const t = useTranslate('webhooks');
  const client = useQueryClient();
  const [catchesUp, setCatchesUp] = useState(endpoint.missedEvents === true);
  const { endpointId, url, eventTypes, merchantId, description } = endpoint;
  const address = `${endpointsUrl}/${endpointId}`;
  const [isEnabled, setEnabled] = useState(false);
  async function enable(idempotencyKey: string): Promise<void> {
    // If only the replay failed, only the replay is repeated.
    if (!isEnabled) {
      await api.put(address, {
        body: {
          url,
          eventTypes,
          status: 'Enabled',
          ...defined({ merchantId, description }),
        },
        headers: { 'if-match': etag },
      });
      setEnabled(true);
    }
    if (catchesUp) await api.post(`${address}/replay`, { body: {}, idempotencyKey });
  }
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t('enable.title')}
      confirm={t('enable.do')}
      run={enable}
      onDone={() => {
        discardLists('["endpoints"');
        discardLists('["deliveries"');
        void client.invalidateQueries({ queryKey: ['endpoints'] });
        void client.invalidateQueries({ queryKey: ['endpoint', endpointId] });
        void client.invalidateQueries({ queryKey: ['recent-deliveries', endpointId] });
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
