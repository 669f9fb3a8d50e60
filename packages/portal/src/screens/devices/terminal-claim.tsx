/** Shows if the organisation has claimed the terminal, with a dialog for the claim code. */
import { Button, TextInput } from '@mantine/core';
import type { PhysicalDevice } from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { DescriptionList, Panel } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { timeItem } from '../../components/values/description-items.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { reloadEstate } from '../estate/estate-data.ts';

export function TerminalClaim({ device }: { readonly device: PhysicalDevice }) {
  const t = useTranslate('devices');
  const mayClaim = useHasPermission('dev.write', 'prov.write');
  const [isOpen, setOpen] = useState(false);
  const { physicalDeviceId, claimStatus, claimMethod, claimedAt } = device;
  const isClaimed = claimStatus === 'Claimed';
  return (
    <Panel title={t('claim.title')}>
      <DescriptionList
        items={[
          [
            t('status'),
            <StateBadge key="status" state={claimStatus} tone={isClaimed ? 'good' : 'warn'}>
              {t(`claim.states.${claimStatus}`)}
            </StateBadge>,
          ],
          [t('claim.method'), claimMethod && t(`claim.methods.${claimMethod}`)],
          timeItem(t('since'), claimedAt),
        ]}
      />
      {!isClaimed && <p className="sy-nothing">{t('claim.text')}</p>}
      {!isClaimed && mayClaim && (
        <Button variant="default" onClick={() => setOpen(true)}>
          {t('claim.open')}
        </Button>
      )}
      {isOpen && (
        <EnterCode address={estateApiUrls.claim(physicalDeviceId)} onClose={() => setOpen(false)} />
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
  const [code, setCode] = useState('');
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t('claim.open')}
      confirm={t('claim.confirm')}
      run={() => api.post(address, { body: { claimCode: code.trim() } })}
      onDone={() => {
        onClose();
        showToast(t('claim.done'));
        reloadEstate();
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
    </ConfirmDialog>
  );
}
