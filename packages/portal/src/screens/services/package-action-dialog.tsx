/** The dialog for one action on a package: subscribe, unsubscribe, enable, disable or delete. */
import type { ServicePackage, Subscription } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';
import { catalogUrl } from './service-queries.ts';

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
    <ActionDialog
      t={(key, values) => t(`packages.${key}`, values)}
      action={verb}
      values={{ name }}
      isDangerous={verb === 'end' || verb === 'remove'}
      run={changes[verb]}
      onClose={onClose}
      onDone={() => reloadData('services')}
    />
  );
}
