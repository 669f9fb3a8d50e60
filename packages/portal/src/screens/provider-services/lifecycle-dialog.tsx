/** The dialog that publishes, retires or deletes a service. */
import type { Service } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { callApi } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { ownServicesKey, serviceUrl, type VersionedService } from './provider-service-queries.ts';

export type LifecycleAction = 'publish' | 'retire' | 'remove';

/** The actions that the status of the service allows. */
export function possibleActions({
  status,
  unpublishedChanges,
}: Service): readonly LifecycleAction[] {
  if (status === 'Draft') return ['publish', 'remove'];
  if (status === 'Retired') return [];
  return unpublishedChanges === true ? ['publish', 'retire'] : ['retire'];
}

export function LifecycleDialog({
  action,
  versioned: { service, etag },
  onClose,
}: {
  readonly action: LifecycleAction;
  readonly versioned: VersionedService;
  readonly onClose: () => void;
}) {
  const t = useTranslate('provider-services');
  const client = useQueryClient();
  const navigate = useNavigate();
  const address = serviceUrl(service.serviceId);
  // Another user may have changed the service.
  const headers = { 'if-match': etag };
  return (
    <ConfirmDialog
      isOpen
      isDangerous={action !== 'publish'}
      onClose={onClose}
      title={t(`${action}.title`, { name: service.name })}
      confirm={t(`${action}.do`)}
      run={() =>
        action === 'remove'
          ? callApi('DELETE', address, { headers })
          : callApi('POST', `${address}/${action}`, { headers })
      }
      onDone={() => {
        showToast(t(`${action}.done`));
        onClose();
        if (action === 'remove') void navigate({ to: '/own-services' });
        void client.invalidateQueries({ queryKey: ownServicesKey });
      }}
    >
      <p className="sy-dialogue-text">{t(`${action}.text`)}</p>
    </ConfirmDialog>
  );
}
