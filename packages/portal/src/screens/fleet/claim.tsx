/** Whether the organisation has proved that it has the terminal, and the dialogue for the code that the terminal shows. */
import { Button, TextInput } from '@mantine/core';
import type { PhysicalDevice } from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ConfirmAction } from '../../parts/confirm-action.tsx';
import { notify } from '../../parts/notify.ts';
import { Facts, Panel } from '../../parts/page.tsx';
import { StateBadge } from '../../parts/state-badge.tsx';
import { Time } from '../../parts/values.tsx';
import { useCan } from '../../session/use-session.ts';
import { useWords } from '../../words/index.ts';
import { addresses } from '../estate/kinds.ts';
import { useEstateChanged } from '../estate/versioned.ts';

export function Claim({ of }: { readonly of: PhysicalDevice }) {
  const t = useWords('fleet');
  const mayClaim = useCan('dev.write', 'prov.write');
  const [isOpen, setOpen] = useState(false);
  const { physicalDeviceId, claimStatus, claimMethod, claimedAt } = of;
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
  const t = useWords('fleet');
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
