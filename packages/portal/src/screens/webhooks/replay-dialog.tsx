/** The dialog that replays missed events, or all events of a period. */
import { Radio, TextInput } from '@mantine/core';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { subtractDays } from '../../session/locale-formats.ts';
import { useFormats } from '../../session/use-session.ts';
import { endpointsUrl } from './webhook-queries.ts';

export function ReplayDialog({
  endpointId,
  onClose,
}: {
  readonly endpointId: string;
  readonly onClose: () => void;
}) {
  const t = useTranslate('webhooks');
  const formats = useFormats();
  const [range, setWhat] = useState('missed');
  const [days, setDays] = useState({ from: '', to: '' });
  const [fault, setFault] = useState<unknown>(undefined);
  const faults = errorsByField(fault);
  const isTime = range === 'time';
  // The last day is included.
  const body = isTime
    ? {
        from: formats.dayStart(days.from),
        ...(days.to === '' ? {} : { to: formats.dayStart(subtractDays(days.to, -1)) }),
      }
    : {};
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t('replay.title')}
      confirm={t('replay.do')}
      isDisabled={isTime && days.from === ''}
      inlineErrorFields={['from', 'to']}
      onFault={setFault}
      run={(idempotencyKey) =>
        api.post(`${endpointsUrl}/${endpointId}/replay`, { body, idempotencyKey })
      }
      onDone={() => {
        reloadData('deliveries', 'recent-deliveries');
        showToast(t('replay.done'));
        onClose();
      }}
    >
      <Radio.Group label={t('replay.what')} value={range} onChange={setWhat}>
        <div className="sy-hook-choices">
          {['missed', 'time'].map((each) => (
            <Radio
              key={each}
              value={each}
              label={t(`replay.${each}`)}
              description={t(`replay.${each}Hint`)}
            />
          ))}
        </div>
      </Radio.Group>
      {isTime && (
        <div className="sy-hook-days">
          {(['from', 'to'] as const).map((name) => (
            <TextInput
              key={name}
              type="date"
              label={t(`replay.${name}`)}
              value={days[name]}
              error={faults[name]}
              onChange={({ currentTarget: { value } }) => setDays({ ...days, [name]: value })}
            />
          ))}
        </div>
      )}
    </ConfirmDialog>
  );
}
