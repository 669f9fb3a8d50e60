/** The dialog that activates or deactivates a service at one level. */
import { Checkbox } from '@mantine/core';
import type { ActivationLevel, Service, ServiceActivation } from '@switchyard/contract';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { type FormValues, schemaFields } from '../../components/forms/schema-fields.ts';
import { SchemaForm } from '../../components/forms/schema-form.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { catalogUrl } from './service-queries.ts';

export type ActivationTarget = {
  readonly level: ActivationLevel;
  readonly entityId: string;
  readonly name: string;
  /** True to activate, false to deactivate. */
  readonly isOn: boolean;
};

type Props = {
  readonly service: Service;
  readonly target: ActivationTarget;
  readonly onClose: () => void;
  /** Called after the activation is stored or sent to the provider. */
  readonly onDone: (activation: ServiceActivation) => void;
};

function useAfterwards({ onClose, onDone }: Pick<Props, 'onClose' | 'onDone'>) {
  const t = useTranslate('services');
  return (activation: ServiceActivation) => {
    const { status } = activation;
    reloadData('service-places', 'services');
    showToast(t(`switch.done.${status}`), status === 'Refused' ? 'bad' : 'good');
    onDone(activation);
    onClose();
  };
}

export function ActivationDialog(props: Props) {
  return props.target.isOn ? <ActivateDialog {...props} /> : <DeactivateDialog {...props} />;
}

function ActivateDialog({ service, target, ...after }: Props) {
  const t = useTranslate('services');
  const { level, entityId, name } = target;
  const onDone = useAfterwards(after);
  const [parameters, setParameters] = useState<FormValues>({});
  const [includesExisting, setIncludes] = useState(true);
  const [fault, setFault] = useState<unknown>(undefined);
  const schema = service.activationParameters;
  const fields = schemaFields(schema);
  const takesMore = level !== 'LogicalDevice';
  return (
    <ConfirmDialog
      isOpen
      onClose={after.onClose}
      title={t('switch.onTitle', { service: service.name })}
      confirm={t('switch.on')}
      onFault={setFault}
      inlineErrorFields={fields.map((field) => `parameters.${field.name}`)}
      run={(idempotencyKey) =>
        api.post<ServiceActivation>(`${catalogUrl}/activations`, {
          idempotencyKey,
          body: {
            serviceId: service.serviceId,
            level,
            entityId,
            ...(fields.length === 0 ? {} : { parameters }),
            ...(takesMore ? { includesExisting } : {}),
          },
        })
      }
      onDone={onDone}
    >
      <p className="sy-dialogue-text sy-broken">
        {t(`switch.at.${level}`, { name })} {t('switch.asked')}
      </p>
      <SchemaForm
        schema={schema}
        values={parameters}
        onChange={setParameters}
        faults={errorsByField(fault)}
        path="parameters"
      />
      {takesMore && (
        <Checkbox
          label={t('switch.includes')}
          description={t('switch.includesText')}
          checked={includesExisting}
          onChange={({ currentTarget }) => setIncludes(currentTarget.checked)}
        />
      )}
    </ConfirmDialog>
  );
}

function DeactivateDialog({ service, target, ...after }: Props) {
  const t = useTranslate('services');
  const { level, entityId, name } = target;
  const onDone = useAfterwards(after);
  return (
    <ConfirmDialog
      isOpen
      isDangerous
      onClose={after.onClose}
      title={t('switch.offTitle', { service: service.name })}
      confirm={t('switch.off')}
      run={() =>
        api.post<ServiceActivation>(`${catalogUrl}/deactivations`, {
          body: { serviceId: service.serviceId, level, entityId },
        })
      }
      onDone={onDone}
    >
      <p className="sy-dialogue-text sy-broken">
        {t(`switch.at.${level}`, { name })} {t(`switch.offText.${level}`)}
      </p>
    </ConfirmDialog>
  );
}
