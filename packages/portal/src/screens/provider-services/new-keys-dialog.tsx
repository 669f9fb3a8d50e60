/** The keys of a service, which are shown this once. */
import { Button, Modal } from '@mantine/core';
import { CopyText } from '../../components/values/copy-text.tsx';
import { useTranslate } from '../../locales/index.ts';

export type Keys = { readonly signingSecret: string; readonly verificationKey: string };

export function SecretDialogue({
  keys,
  onClose,
}: {
  readonly keys: Keys;
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
      // A slip of the pointer would lose it.
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': parts('close') }}
    >
      <div className="sy-secret">
        <p className="sy-dialogue-text">{t('keys.keep')}</p>
        <dl>
          <div>
            <dt>{t('keys.secret')}</dt>
            <dd>
              <CopyText text={keys.signingSecret} label={t('keys.secret')} />
            </dd>
          </div>
          <div>
            <dt>{t('keys.public')}</dt>
            <dd>
              <CopyText text={keys.verificationKey} label={t('keys.public')} />
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
