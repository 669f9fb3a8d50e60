/** The dialog that publishes, retires or deletes a service. */
import type { Service } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import type { Versioned } from '../../app/versioned-resources.ts';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';
import { serviceUrl } from './provider-service-queries.ts';

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
  versioned: { body: service, etag },
  onClose,
}: {
  readonly action: LifecycleAction;
  readonly versioned: Versioned<Service>;
  readonly onClose: () => void;
}) {
  const t = useTranslate('provider-services');
  const navigate = useNavigate();
  const path = serviceUrl(service.serviceId);
  // Another user may have changed the service.
  const headers = { 'if-match': etag };
  return (
    <ActionDialog
      t={t}
      action={action}
      values={{ name: service.name }}
      isDangerous={action !== 'publish'}
      run={() =>
        action === 'remove'
          ? api.delete(path, { headers })
          : api.post(`${path}/${action}`, { headers })
      }
      onClose={onClose}
      onDone={() => {
        if (action === 'remove') void navigate({ to: '/own-services' });
        reloadData('own-services');
      }}
    />
  );
}
