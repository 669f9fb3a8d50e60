/** The signing keys of calls to the provider's server, and their rotation. */
import { Button } from '@mantine/core';
import type { Service } from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { DescriptionList, Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { NewKeysDialog, type ServiceKeys } from './new-keys-dialog.tsx';
import { serviceUrl } from './provider-service-queries.ts';

export function SigningKeys({ service }: { readonly service: Service }) {
  const t = useTranslate('provider-services');
  const mayRenew = useHasPermission('svc.write');
  const [isRenewing, setRenewing] = useState(false);
  const [keys, setKeys] = useState<ServiceKeys | undefined>(undefined);
  const renew = (
    <Button variant="default" size="compact-sm" onClick={() => setRenewing(true)}>
      {t('keys.renew')}
    </Button>
  );
  return (
    <Panel title={t('keys.title')} actions={mayRenew && renew}>
      <p className="sy-service-text-long">{t('keys.text')}</p>
      <DescriptionList
        items={[
          [t('keys.server'), service.spiUrl ?? t('noServer')],
          [t('keys.header'), 'webhook-signature'],
          [t('keys.schemes'), 'v1 (HMAC-SHA256), v1a (Ed25519)'],
        ]}
      />
      <ConfirmDialog
        isOpen={isRenewing}
        onClose={() => setRenewing(false)}
        title={t('keys.renewTitle')}
        confirm={t('keys.renew')}
        run={(idempotencyKey) =>
          api.post<ServiceKeys>(`${serviceUrl(service.serviceId)}/secret`, { idempotencyKey })
        }
        onDone={(made) => {
          setRenewing(false);
          setKeys(made);
        }}
      >
        <p className="sy-dialogue-text">{t('keys.renewText')}</p>
      </ConfirmDialog>
      {keys !== undefined && <NewKeysDialog keys={keys} onClose={() => setKeys(undefined)} />}
    </Panel>
  );
}
