/** What is done with a package in one step: subscribed, ended, enabled, disabled, deleted. */
import type { ServicePackage, Subscription } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { catalogue, servicesKey } from './service-queries.ts';

export type Verb = 'subscribe' | 'end' | 'enable' | 'disable' | 'remove';

export function PackageChange({
  verb,
  servicePackage,
  subscription,
  onClose,
}: {
  readonly verb: Verb;
  readonly servicePackage: ServicePackage;
  readonly subscription?: Subscription;
  readonly onClose: () => void;
}) {
  const t = useTranslate('services');
  const client = useQueryClient();
  const { packageId, name } = servicePackage;
  const address = `${catalogue}/packages/${packageId}`;
  const put = (status: ServicePackage['status']) => api.put(address, { body: { ...servicePackage, status } });
  const changes: Readonly<Record<Verb, (key: string) => Promise<unknown>>> = {
    subscribe: (idempotencyKey) =>
      api.post(`${catalogue}/subscriptions`, { body: { packageId }, idempotencyKey }),
    end: () => api.delete(`${catalogue}/subscriptions/${subscription?.subscriptionId}`),
    enable: () => put('Enabled'),
    disable: () => put('Disabled'),
    remove: () => api.delete(address),
  };
  return (
    <ConfirmAction
      isOpen
      isDangerous={verb === 'end' || verb === 'remove'}
      onClose={onClose}
      title={t(`packages.${verb}.title`, { name })}
      confirm={t(`packages.${verb}.do`)}
      run={changes[verb]}
      onDone={() => {
        void client.invalidateQueries({ queryKey: servicesKey });
        notify(t(`packages.${verb}.done`));
        onClose();
      }}
    >
      <p className="sy-dialogue-text">{t(`packages.${verb}.text`)}</p>
    </ConfirmAction>
  );
}
