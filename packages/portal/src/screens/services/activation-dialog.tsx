/** Switches a service on or off at one level, with what its provider wants to know. */
import { Checkbox } from '@mantine/core';
import type { ActivationLevel, Service, ServiceActivation } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { faultsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { type FormValues, fieldsOf } from '../../components/forms/schema-fields.ts';
import { SchemaForm } from '../../components/forms/schema-form.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { forgetLists } from '../../table/row-store-cache.ts';
import { catalogue, servicesKey } from './service-queries.ts';

export type Target = {
  readonly level: ActivationLevel;
  readonly entityId: string;
  readonly name: string;
  /** What is to be done there. */
  readonly isOn: boolean;
};

type Props = {
  readonly service: Service;
  readonly target: Target;
  readonly onClose: () => void;
  /** Once it is so, or asked of the provider. */
  readonly onDone: (activation: ServiceActivation) => void;
};

function useAfterwards({ onClose, onDone }: Pick<Props, 'onClose' | 'onDone'>) {
  const t = useTranslate('services');
  const client = useQueryClient();
  return (activation: ServiceActivation) => {
    const { status } = activation;
    forgetLists('["service-places"');
    void client.invalidateQueries({ queryKey: servicesKey });
    notify(t(`switch.done.${status}`), status === 'Refused' ? 'bad' : 'good');
    onDone(activation);
    onClose();
  };
}

export function SwitchDialogue(props: Props) {
  return props.target.isOn ? <SwitchOn {...props} /> : <SwitchOff {...props} />;
}

function SwitchOn({ service, target, ...after }: Props) {
  const t = useTranslate('services');
  const { level, entityId, name } = target;
  const onDone = useAfterwards(after);
  const [parameters, setParameters] = useState<FormValues>({});
  const [includesExisting, setIncludes] = useState(true);
  const [fault, setFault] = useState<unknown>(undefined);
  const schema = service.activationParameters;
  const fields = fieldsOf(schema);
  const takesMore = level !== 'LogicalDevice';
  return (
    <ConfirmAction
      isOpen
      onClose={after.onClose}
      title={t('switch.onTitle', { service: service.name })}
      confirm={t('switch.on')}
      onFault={setFault}
      inlineErrorFields={fields.map((field) => `parameters.${field.name}`)}
      run={(idempotencyKey) =>
        api.post<ServiceActivation>(`${catalogue}/activations`, {
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
        faults={faultsByField(fault)}
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
    </ConfirmAction>
  );
}

function SwitchOff({ service, target, ...after }: Props) {
  const t = useTranslate('services');
  const { level, entityId, name } = target;
  const onDone = useAfterwards(after);
  return (
    <ConfirmAction
      isOpen
      isDangerous
      onClose={after.onClose}
      title={t('switch.offTitle', { service: service.name })}
      confirm={t('switch.off')}
      run={() =>
        api.post<ServiceActivation>(`${catalogue}/deactivations`, {
          body: { serviceId: service.serviceId, level, entityId },
        })
      }
      onDone={onDone}
    >
      <p className="sy-dialogue-text sy-broken">
        {t(`switch.at.${level}`, { name })} {t(`switch.offText.${level}`)}
      </p>
    </ConfirmAction>
  );
}
