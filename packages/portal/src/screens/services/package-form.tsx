/** The form that creates or edits a package. */
import type { Service, ServicePackage } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { FormInputs, useForm } from '../../components/forms/form.tsx';
import type { Field } from '../../components/forms/form-fields.ts';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { catalogUrl } from './service-queries.ts';

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
  const choices = services.filter(
    ({ serviceId, status }) =>
      status === 'Published' || servicePackage?.serviceIds.includes(serviceId) === true,
  );
  const fields: readonly Field[] = [
    { name: 'name', kind: 'text', max: 100, isRequired: true },
    { name: 'description', kind: 'paragraph', max: 500 },
    {
      name: 'serviceIds',
      kind: 'choices',
      maxItems: servicesMost,
      options: choices.map(({ serviceId, name }) => ({ value: serviceId, label: name })),
      isRequired: true,
      isSearchable: true,
    },
  ];
  const form = useForm(() => fields, {
    before: servicePackage,
    unchanged: servicePackage && { status: servicePackage.status },
  });
  const { body } = form;
  return (
    <ConfirmDialog
      {...form.confirmProps}
      isOpen
      onClose={onClose}
      title={t(servicePackage === undefined ? 'packages.add' : 'packages.editTitle')}
      confirm={t('packages.save')}
      run={(idempotencyKey) =>
        servicePackage === undefined
          ? api.post<ServicePackage>(`${catalogUrl}/packages`, { body, idempotencyKey })
          : api.put<ServicePackage>(`${catalogUrl}/packages/${servicePackage.packageId}`, { body })
      }
      onDone={() => {
        reloadData('services');
        showToast(t('packages.saved'));
        onClose();
      }}
    >
      <FormInputs form={form} t={(key) => t(`packages.${key}`)} />
    </ConfirmDialog>
  );
}
