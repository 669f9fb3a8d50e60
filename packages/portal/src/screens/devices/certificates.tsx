/** The certificates of a device, and their revocation. */
import { Button, Select } from '@mantine/core';
import type { DeviceCertificateSummary } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { EmptyState, Panel } from '../../components/layout/page.tsx';
import { QueryContent } from '../../components/layout/query-content.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, ShortId } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { reloadEstate } from '../estate/estate-data.ts';

const displayLimit = 50;
const reasons = [
  'Unspecified',
  'KeyCompromise',
  'Superseded',
  'CessationOfOperation',
  'PrivilegeWithdrawn',
];

export function Certificates({ physicalDeviceId }: { readonly physicalDeviceId: string }) {
  const t = useTranslate('devices');
  const mayRevoke = useHasPermission('dev.write', 'prov.write');
  const [revoked, setRevoked] = useState<string | undefined>(undefined);
  const address = estateApiUrls.certificates(physicalDeviceId);
  const query = useQuery({
    queryKey: ['estate', address],
    queryFn: ({ signal }) =>
      api.get<{ items: DeviceCertificateSummary[] }>(address, {
        query: { limit: displayLimit },
        signal,
      }),
  });
  return (
    <Panel title={t('certificates.title')} flush>
      <QueryContent query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon="key" title={t('certificates.noneTitle')}>
              {t('certificates.noneText')}
            </EmptyState>
          ) : (
            <ul className="sy-plain-list">
              {items
                .toReversed()
                .map(({ thumbprint, certificateSerial, status, notBefore, notAfter }) => (
                  <li key={thumbprint}>
                    <div>
                      <ShortId id={certificateSerial} />
                      <small>
                        <DateTime at={notBefore} /> – <DateTime at={notAfter} />
                      </small>
                    </div>
                    <div className="sy-line-end">
                      <StateBadge
                        state={status}
                        {...(status === 'Expired' ? { tone: 'warn' } : {})}
                      >
                        {t(`certificates.states.${status}`)}
                      </StateBadge>
                      {mayRevoke && status === 'Active' && (
                        <Button
                          variant="default"
                          size="compact-sm"
                          onClick={() => setRevoked(thumbprint)}
                        >
                          {t('certificates.revoke')}
                        </Button>
                      )}
                    </div>
                  </li>
                ))}
            </ul>
          )
        }
      </QueryContent>
      {revoked !== undefined && (
        <Revoke address={`${address}/${revoked}/revoke`} onClose={() => setRevoked(undefined)} />
      )}
    </Panel>
  );
}

function Revoke({ address, onClose }: { readonly address: string; readonly onClose: () => void }) {
  const t = useTranslate('devices');
  const [reason, setReason] = useState('Unspecified');
  return (
    <ConfirmDialog
      isOpen
      isDangerous
      onClose={onClose}
      title={t('certificates.revokeTitle')}
      confirm={t('certificates.revoke')}
      run={() => api.post(address, { body: { reason } })}
      onDone={() => {
        onClose();
        showToast(t('certificates.revoked'));
        reloadEstate();
      }}
    >
      <p className="sy-dialogue-text">{t('certificates.revokeText')}</p>
      <Select
        label={t('certificates.reason')}
        allowDeselect={false}
        data={reasons.map((each) => ({ value: each, label: t(`certificates.reasons.${each}`) }))}
        value={reason}
        onChange={(value) => setReason(value ?? 'Unspecified')}
      />
    </ConfirmDialog>
  );
}
