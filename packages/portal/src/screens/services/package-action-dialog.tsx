/** The dialog for one action on a package: subscribe, unsubscribe, enable, disable or delete. */
import type { ServicePackage, Subscription } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { catalogUrl, servicesKey } from './service-queries.ts';

export type PackageAction = 'subscribe' | 'end' | 'enable' | 'disable' | 'remove';

export function PackageActionDialog({
  verb,
  servicePackage,
  subscription,
  onClose,
}: {
  readonly verb: PackageAction;
  readonly servicePackage: ServicePackage;
  readonly subscription?: Subscription;
  readonly onClose: () => void;
}) {
  const t = useTranslate('services');
  const client = useQueryClient();
  const { packageId, name } = servicePackage;
  const address = `${catalogUrl}/packages/${packageId}`;
  const put = (status: ServicePackage['status']) =>
    api.put(address, { body: { ...servicePackage, status } });
  const changes: Readonly<Record<PackageAction, (key: string) => Promise<unknown>>> = {
    subscribe: (idempotencyKey) =>
      api.post(`${catalogUrl}/subscriptions`, { body: { packageId }, idempotencyKey }),
    end: () => api.delete(`${catalogUrl}/subscriptions/${subscription?.subscriptionId}`),
    enable: () => put('Enabled'),
    disable: () => put('Disabled'),
    remove: () => api.delete(address),
  };
  return (
    <ConfirmDialog
      isOpen
      isDangerous={verb === 'end' || verb === 'remove'}
      onClose={onClose}
      title={t(`packages.${verb}.title`, { name })}
      confirm={t(`packages.${verb}.do`)}
      run={changes[verb]}
      onDone={() => {
        void client.invalidateQueries({ queryKey: servicesKey });
        showToast(t(`packages.${verb}.done`));
        onClose();
      }}
    >
      <p className="sy-dialogue-text">{t(`packages.${verb}.text`)}</p>
    </ConfirmDialog>
  );
}
