/** What calls to the provider's server are signed with, and a new one of it. */
import { Button } from '@mantine/core';
import type { Service } from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { Facts, Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan } from '../../session/use-session.ts';
import { type Keys, SecretDialogue } from './new-keys-dialog.tsx';
import { addressOf } from './provider-service-queries.ts';

export function SigningKeys({ service }: { readonly service: Service }) {
  const t = useTranslate('provider-services');
  const mayRenew = useCan('svc.write');
  const [isRenewing, setRenewing] = useState(false);
  const [keys, setKeys] = useState<Keys | undefined>(undefined);
  const renew = (
    <Button variant="default" size="compact-sm" onClick={() => setRenewing(true)}>
      {t('keys.renew')}
    </Button>
  );
  return (
    <Panel title={t('keys.title')} {...(mayRenew ? { actions: renew } : {})}>
      <p className="sy-service-text-long">{t('keys.text')}</p>
      <Facts
        items={[
          [t('keys.server'), service.spiUrl ?? t('noServer')],
          [t('keys.header'), 'webhook-signature'],
          [t('keys.schemes'), 'v1 (HMAC-SHA256), v1a (Ed25519)'],
        ]}
      />
      <ConfirmAction
        isOpen={isRenewing}
        onClose={() => setRenewing(false)}
        title={t('keys.renewTitle')}
        confirm={t('keys.renew')}
        run={(idempotencyKey) =>
          api.post<Keys>(`${addressOf(service.serviceId)}/secret`, { idempotencyKey })
        }
        onDone={(made) => {
          setRenewing(false);
          setKeys(made);
        }}
      >
        <p className="sy-dialogue-text">{t('keys.renewText')}</p>
      </ConfirmAction>
      {keys !== undefined && <SecretDialogue keys={keys} onClose={() => setKeys(undefined)} />}
    </Panel>
  );
}
