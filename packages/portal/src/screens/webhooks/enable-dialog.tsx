/** Sends events to an endpoint again, and what it has missed meanwhile if that is wanted. */

import { Checkbox } from '@mantine/core';
import { defined } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { forgetLists } from '../../table/row-store-cache.ts';
import { endpointsAddress, type FoundEndpoint } from './webhook-queries.ts';

export function EnableEndpoint({
  loaded: { endpoint, etag },
  onClose,
}: {
  readonly loaded: FoundEndpoint;
  readonly onClose: () => void;
}) {
  const t = useTranslate('webhooks');
  const client = useQueryClient();
  const [catchesUp, setCatchesUp] = useState(endpoint.missedEvents === true);
  const { endpointId, url, eventTypes, merchantId, description } = endpoint;
  const address = `${endpointsAddress}/${endpointId}`;
  const [isEnabled, setEnabled] = useState(false);
  async function enable(idempotencyKey: string): Promise<void> {
    // Where only the replay was refused, it alone is tried again.
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
    <ConfirmAction
      isOpen
      onClose={onClose}
      title={t('enable.title')}
      confirm={t('enable.do')}
      run={enable}
      onDone={() => {
        forgetLists('["endpoints"');
        forgetLists('["deliveries"');
        void client.invalidateQueries({ queryKey: ['endpoints'] });
        void client.invalidateQueries({ queryKey: ['endpoint', endpointId] });
        void client.invalidateQueries({ queryKey: ['recent-deliveries', endpointId] });
        notify(t('enable.done'));
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
    </ConfirmAction>
  );
}
