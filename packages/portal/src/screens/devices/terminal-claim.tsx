/** Whether the organisation has proved that it has the terminal, and the dialogue for the code that the terminal shows. */
import { Button, TextInput } from '@mantine/core';
import type { PhysicalDevice } from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { Facts, Panel } from '../../components/layout/page.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { Time } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan } from '../../session/use-session.ts';
import { addresses } from '../estate/entity-kinds.ts';
import { useEstateChanged } from '../estate/versioned-entities.ts';

export function Claim({ device }: { readonly device: PhysicalDevice }) {
  const t = useTranslate('devices');
  const mayClaim = useCan('dev.write', 'prov.write');
  const [isOpen, setOpen] = useState(false);
  const { physicalDeviceId, claimStatus, claimMethod, claimedAt } = device;
  const isClaimed = claimStatus === 'Claimed';
  return (
    <Panel title={t('claim.title')}>
      <Facts
        items={[
          [
            t('status'),
            <StateBadge key="status" state={claimStatus} tone={isClaimed ? 'good' : 'warn'}>
              {t(`claim.states.${claimStatus}`)}
            </StateBadge>,
          ],
          [t('claim.method'), claimMethod && t(`claim.methods.${claimMethod}`)],
          [t('since'), claimedAt && <Time key="since" at={claimedAt} />],
        ]}
      />
      {!isClaimed && <p className="sy-nothing">{t('claim.text')}</p>}
      {!isClaimed && mayClaim && (
        <Button variant="default" onClick={() => setOpen(true)}>
          {t('claim.open')}
        </Button>
      )}
      {isOpen && (
        <EnterCode address={addresses.claim(physicalDeviceId)} onClose={() => setOpen(false)} />
      )}
    </Panel>
  );
}

function EnterCode({
  address,
  onClose,
}: {
  readonly address: string;
  readonly onClose: () => void;
}) {
  const t = useTranslate('devices');
  const changed = useEstateChanged();
  const [code, setCode] = useState('');
  return (
    <ConfirmAction
      isOpen
      onClose={onClose}
      title={t('claim.open')}
      confirm={t('claim.confirm')}
      run={() => api.post(address, { body: { claimCode: code.trim() } })}
      onDone={() => {
        onClose();
        notify(t('claim.done'));
        changed();
      }}
    >
      <TextInput
        label={t('claim.code')}
        placeholder="K7QM-2F9X"
        autoComplete="off"
        maxLength={9}
        value={code}
        onChange={({ currentTarget }) => setCode(currentTarget.value)}
      />
    </ConfirmAction>
  );
}
