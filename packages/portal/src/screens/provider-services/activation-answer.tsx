/** Answers an activation that the provider's server left open. */
import { SegmentedControl, Textarea } from '@mantine/core';
import type { ServiceUse } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { faultsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { forgetLists } from '../../table/row-store-cache.ts';
import { catalogue } from '../services/service-queries.ts';
import { ownKey } from './provider-service-queries.ts';

type Word = 'Accepted' | 'Refused';

export function Answer({
  use,
  onClose,
  onDone,
}: {
  readonly use: ServiceUse;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const t = useTranslate('provider-services');
  const client = useQueryClient();
  const { organizationId, activationId, handshakeId, organizationName } = use;
  const [status, setStatus] = useState<Word>('Accepted');
  const [reason, setReason] = useState('');
  const [fault, setFault] = useState<unknown>(undefined);
  const path = `${catalogue}/organizations/${organizationId}/activations/${activationId}/answer`;
  const why = status === 'Refused' && reason.trim() !== '' ? { reason: reason.trim() } : {};
  return (
    <ConfirmAction
      isOpen
      isDangerous={status === 'Refused'}
      onClose={onClose}
      title={t('answer.title', { name: organizationName ?? organizationId })}
      confirm={t(`answer.do.${status}`)}
      onFault={setFault}
      inlineErrorFields={['reason']}
      run={() => api.post(path, { body: { handshakeId, status, ...why } })}
      onDone={() => {
        forgetLists('["service-uses"');
        void client.invalidateQueries({ queryKey: ownKey });
        notify(t(`answer.done.${status}`));
        onDone();
        onClose();
      }}
    >
      <p className="sy-dialogue-text">{t('answer.text')}</p>
      <SegmentedControl
        fullWidth
        aria-label={t('uses.answer')}
        data={(['Accepted', 'Refused'] as const).map((value) => ({
          value,
          label: t(`answer.choice.${value}`),
        }))}
        value={status}
        onChange={(value) => setStatus(value as Word)}
      />
      {status === 'Refused' && (
        <Textarea
          label={t('answer.reason')}
          description={t('answer.reasonText')}
          maxLength={500}
          autosize
          minRows={2}
          value={reason}
          error={faultsByField(fault)['reason']}
          onChange={({ currentTarget }) => setReason(currentTarget.value)}
        />
      )}
    </ConfirmAction>
  );
}
