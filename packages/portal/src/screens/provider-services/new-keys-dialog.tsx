/** Shows the new keys of a service once. */
import { Button, Modal } from '@mantine/core';
import { CopyableText } from '../../components/values/copy-text.tsx';
import { useTranslate } from '../../locales/index.ts';

export type ServiceKeys = { readonly signingSecret: string; readonly verificationKey: string };

export function NewKeysDialog({
  keys,
  onClose,
}: {
  readonly keys: ServiceKeys;
  readonly onClose: () => void;
}) {
  const t = useTranslate('provider-services');
  const parts = useTranslate('components');
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={t('keys.shownOnce')}
      // An accidental click must not close the dialog.
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': parts('close') }}
    >
      <div className="sy-secret">
        <p className="sy-dialogue-text">{t('keys.keep')}</p>
        <dl>
          <div>
            <dt>{t('keys.secret')}</dt>
            <dd>
              <CopyableText text={keys.signingSecret} label={t('keys.secret')} />
            </dd>
          </div>
          <div>
            <dt>{t('keys.public')}</dt>
            <dd>
              <CopyableText text={keys.verificationKey} label={t('keys.public')} />
            </dd>
          </div>
        </dl>
        <div className="sy-confirm-buttons">
          <Button onClick={onClose}>{t('keys.kept')}</Button>
        </div>
      </div>
    </Modal>
  );
}
