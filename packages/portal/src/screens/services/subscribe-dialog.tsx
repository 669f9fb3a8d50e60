/** The dialog that subscribes to a package, or to a new package with this service. */
import { Select } from '@mantine/core';
import type { Service, ServicePackage, Subscription } from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { catalogUrl, type PackageOffers } from './service-queries.ts';

const newPackage = 'own';

/** The packages that contain the service. */
function choicesOf({ packages }: PackageOffers, serviceId: string): ServicePackage[] {
  return packages.filter(
    ({ status, serviceIds }) => status === 'Enabled' && serviceIds.includes(serviceId),
  );
}

export function SubscribeDialog({
  service,
  offers,
  onClose,
}: {
  readonly service: Service;
  readonly offers: PackageOffers;
  readonly onClose: () => void;
}) {
  const t = useTranslate('services');
  const choices = choicesOf(offers, service.serviceId);
  const [chosen, setChosen] = useState(choices[0]?.packageId ?? newPackage);
  /** The package of an earlier attempt that failed after its creation. */
  const [made, setMade] = useState<string | undefined>(undefined);

  async function packageId(key: string): Promise<string> {
    if (chosen !== newPackage) return chosen;
    if (made !== undefined) return made;
    const body = { name: service.name, serviceIds: [service.serviceId] };
    const { packageId: id } = await api.post<ServicePackage>(`${catalogUrl}/packages`, {
      body,
      idempotencyKey: `${key}:package`,
    });
    setMade(id);
    return id;
  }

  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t('subscribe.title', { service: service.name })}
      confirm={t('subscribe.do')}
      run={async (idempotencyKey) =>
        api.post<Subscription>(`${catalogUrl}/subscriptions`, {
          body: { packageId: await packageId(idempotencyKey) },
          idempotencyKey,
        })
      }
      onDone={() => {
        reloadData('services');
        showToast(t('subscribe.done'));
        onClose();
      }}
    >
      <p className="sy-dialogue-text">{t('subscribe.text')}</p>
      <Select
        label={t('subscribe.package')}
        allowDeselect={false}
        data={[
          ...choices.map(({ packageId: value, name }) => ({ value, label: name })),
          { value: newPackage, label: t('subscribe.own') },
        ]}
        value={chosen}
        onChange={(value) => setChosen(value ?? newPackage)}
      />
    </ConfirmDialog>
  );
}
