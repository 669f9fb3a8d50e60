/** The dialog that sends a test event and opens its delivery. */
import { Select } from '@mantine/core';
import type { WebhookDelivery } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { CodeBlock } from '../../components/values/code-block.tsx';
import { useTranslate } from '../../locales/index.ts';
import { endpointsUrl, useEventTypes } from './webhook-queries.ts';

const plainTest = 'endpoint.test';

export function TestEventDialog({
  endpointId,
  onClose,
}: {
  readonly endpointId: string;
  readonly onClose: () => void;
}) {
  const t = useTranslate('webhooks');
  const navigate = useNavigate();
  const types = useEventTypes().data?.items ?? [];
  const [type, setType] = useState(plainTest);
  const example = types.find((each) => each.type === type)?.example;
  return (
    <ConfirmDialog
      isOpen
      size="lg"
      onClose={onClose}
      title={t('test.title')}
      confirm={t('test.do')}
      run={(idempotencyKey) =>
        api.post<WebhookDelivery>(`${endpointsUrl}/${endpointId}/test`, {
          body: { type },
          idempotencyKey,
        })
      }
      onDone={({ deliveryId }) => {
        reloadData('deliveries');
        showToast(t('test.done'));
        onClose();
        void navigate({ to: `/webhooks/deliveries/${deliveryId}` });
      }}
    >
      <p className="sy-dialogue-text">{t('test.text')}</p>
      <Select
        label={t('type')}
        searchable
        allowDeselect={false}
        maxDropdownHeight={260}
        data={[...new Set([plainTest, ...types.map((each) => each.type)])]}
        value={type}
        onChange={(value) => setType(value ?? plainTest)}
      />
      {example !== undefined && (
        <CodeBlock text={JSON.stringify(example, undefined, 2)} label={t('test.example')} />
      )}
    </ConfirmDialog>
  );
}
