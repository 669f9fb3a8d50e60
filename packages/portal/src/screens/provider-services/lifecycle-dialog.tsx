/** What is done with a service as a whole: published, withdrawn, deleted. */
import type { Service } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { addressOf, ownKey, type Versioned } from './provider-service-queries.ts';

export type Step = 'publish' | 'retire' | 'remove';

/** In the state that the service is in. */
export function stepsOf({ status, unpublishedChanges }: Service): readonly Step[] {
  if (status === 'Draft') return ['publish', 'remove'];
  if (status === 'Retired') return [];
  return unpublishedChanges === true ? ['publish', 'retire'] : ['retire'];
}

export function StepDialogue({
  step,
  versioned: { service, etag },
  onClose,
}: {
  readonly step: Step;
  readonly versioned: Versioned;
  readonly onClose: () => void;
}) {
  const t = useTranslate('provider-services');
  const client = useQueryClient();
  const navigate = useNavigate();
  const address = addressOf(service.serviceId);
  // Somebody else may have changed it since it was looked at.
  const headers = { 'if-match': etag };
  return (
    <ConfirmAction
      isOpen
      isDangerous={step !== 'publish'}
      onClose={onClose}
      title={t(`${step}.title`, { name: service.name })}
      confirm={t(`${step}.do`)}
      run={() =>
        step === 'remove'
          ? call('DELETE', address, { headers })
          : call('POST', `${address}/${step}`, { headers })
      }
      onDone={() => {
        notify(t(`${step}.done`));
        onClose();
        if (step === 'remove') void navigate({ to: '/own-services' });
        void client.invalidateQueries({ queryKey: ownKey });
      }}
    >
      <p className="sy-dialogue-text">{t(`${step}.text`)}</p>
    </ConfirmAction>
  );
}
