/** Subscribes the organisation: to a package that holds the service, or to a new one for it alone. */
import { Select } from '@mantine/core';
import type { Service, ServicePackage, Subscription } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { catalogue, type Offers, servicesKey } from './service-queries.ts';

const newPackage = 'own';

/** What could be subscribed to. */
function choicesOf({ packages }: Offers, serviceId: string): ServicePackage[] {
  return packages.filter(
    ({ status, serviceIds }) => status === 'Enabled' && serviceIds.includes(serviceId),
  );
}

export function Subscribe({
  service,
  offers,
  onClose,
}: {
  readonly service: Service;
  readonly offers: Offers;
  readonly onClose: () => void;
}) {
  const t = useTranslate('services');
  const client = useQueryClient();
  const choices = choicesOf(offers, service.serviceId);
  const [chosen, setChosen] = useState(choices[0]?.packageId ?? newPackage);
  /** What came of a first try that broke off after the package was made. */
  const [made, setMade] = useState<string | undefined>(undefined);

  async function packageId(key: string): Promise<string> {
    if (chosen !== newPackage) return chosen;
    if (made !== undefined) return made;
    const body = { name: service.name, serviceIds: [service.serviceId] };
    const { packageId: id } = await api.post<ServicePackage>(`${catalogue}/packages`, {
      body,
      idempotencyKey: `${key}:package`,
    });
    setMade(id);
    return id;
  }

  return (
    <ConfirmAction
      isOpen
      onClose={onClose}
      title={t('subscribe.title', { service: service.name })}
      confirm={t('subscribe.do')}
      run={async (idempotencyKey) =>
        api.post<Subscription>(`${catalogue}/subscriptions`, {
          body: { packageId: await packageId(idempotencyKey) },
          idempotencyKey,
        })
      }
      onDone={() => {
        void client.invalidateQueries({ queryKey: servicesKey });
        notify(t('subscribe.done'));
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
    </ConfirmAction>
  );
}
