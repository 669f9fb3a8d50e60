/** The form that creates or edits a package. */

import { MultiSelect, Textarea, TextInput } from '@mantine/core';
import { defined, type Service, type ServicePackage } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { catalogUrl, servicesKey } from './service-queries.ts';

const servicesMost = 50;

export function PackageForm({
  servicePackage,
  services,
  onClose,
}: {
  /** If undefined, the form creates a package. */
  readonly servicePackage: ServicePackage | undefined;
  readonly services: readonly Service[];
  readonly onClose: () => void;
}) {
  const t = useTranslate('services');
  const client = useQueryClient();
  const [name, setName] = useState(servicePackage?.name ?? '');
  const [description, setDescription] = useState(servicePackage?.description ?? '');
  const [serviceIds, setServiceIds] = useState<string[]>(servicePackage?.serviceIds ?? []);
  const [fault, setFault] = useState<unknown>(undefined);
  const faults = errorsByField(fault);
  const ofServices = Object.entries(faults).find(([path]) => path.startsWith('serviceIds'));
  const about = description.trim() === '' ? {} : { description: description.trim() };
  const status = defined({ status: servicePackage?.status });
  const body = { name: name.trim(), ...about, ...status, serviceIds };
  const choices = services.filter(
    ({ serviceId, status: state }) => state === 'Published' || serviceIds.includes(serviceId),
  );
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t(servicePackage === undefined ? 'packages.add' : 'packages.editTitle')}
      confirm={t('packages.save')}
      isDisabled={body.name === '' || serviceIds.length === 0}
      onFault={setFault}
      inlineErrorFields={['name', 'description', ofServices?.[0] ?? 'serviceIds']}
      run={(idempotencyKey) =>
        servicePackage === undefined
          ? api.post<ServicePackage>(`${catalogUrl}/packages`, { body, idempotencyKey })
          : api.put<ServicePackage>(`${catalogUrl}/packages/${servicePackage.packageId}`, { body })
      }
      onDone={() => {
        void client.invalidateQueries({ queryKey: servicesKey });
        showToast(t('packages.saved'));
        onClose();
      }}
    >
      <Naming
        name={name}
        description={description}
        faults={faults}
        onName={setName}
        onDescription={setDescription}
      />
      <MultiSelect
        label={t('packages.services')}
        required
        searchable
        maxValues={servicesMost}
        data={choices.map(({ serviceId, name: label }) => ({ value: serviceId, label }))}
        value={serviceIds}
        error={ofServices?.[1]}
        onChange={setServiceIds}
      />
    </ConfirmDialog>
  );
}

function Naming({
  name,
  description,
  faults,
  onName,
  onDescription,
}: {
  readonly name: string;
  readonly description: string;
  readonly faults: Readonly<Record<string, string>>;
  readonly onName: (name: string) => void;
  readonly onDescription: (description: string) => void;
}) {
  const t = useTranslate('services');
  return (
    <>
      <TextInput
        label={t('packages.name')}
        required
        maxLength={100}
        data-autofocus
        value={name}
        error={faults['name']}
        onChange={({ currentTarget }) => onName(currentTarget.value)}
      />
      <Textarea
        label={t('packages.description')}
        maxLength={500}
        autosize
        minRows={2}
        value={description}
        error={faults['description']}
        onChange={({ currentTarget }) => onDescription(currentTarget.value)}
      />
    </>
  );
}
