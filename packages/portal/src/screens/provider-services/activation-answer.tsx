/** Answers an activation that the server of the provider left open. */
import { SegmentedControl, Textarea } from '@mantine/core';
import type { ServiceUse } from '@switchyard/contract';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { catalogUrl } from '../services/service-queries.ts';

type Word = 'Accepted' | 'Refused';

export function ActivationAnswer({
  use,
  onClose,
}: {
  readonly use: ServiceUse;
  readonly onClose: () => void;
}) {
  const t = useTranslate('provider-services');
  const { organizationId, activationId, handshakeId, organizationName } = use;
  const [status, setStatus] = useState<Word>('Accepted');
  const [reason, setReason] = useState('');
  const [fault, setFault] = useState<unknown>(undefined);
  const path = `${catalogUrl}/organizations/${organizationId}/activations/${activationId}/answer`;
  const why = status === 'Refused' && reason.trim() !== '' ? { reason: reason.trim() } : {};
  return (
    <ConfirmDialog
      isOpen
      isDangerous={status === 'Refused'}
      onClose={onClose}
      title={t('answer.title', { name: organizationName ?? organizationId })}
      confirm={t(`answer.do.${status}`)}
      onFault={setFault}
      inlineErrorFields={['reason']}
      run={() => api.post(path, { body: { handshakeId, status, ...why } })}
      onDone={() => {
        reloadData('service-uses', 'own-services');
        showToast(t(`answer.done.${status}`));
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
          error={errorsByField(fault)['reason']}
          onChange={({ currentTarget }) => setReason(currentTarget.value)}
        />
      )}
    </ConfirmDialog>
  );
}
