/** Shows a secret once. The dialog stays open until the user confirms that it is stored. */
import { Button, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslate } from '../../locales/index.ts';
import { Icon } from '../icon.tsx';
import { CopyableText } from './copy-text.tsx';
import './one-time-secret-dialog.css';

export function OneTimeSecretDialog({
  title,
  facts,
  children,
  onClose,
}: {
  readonly title: string;
  readonly facts: readonly (readonly [label: string, text: string])[];
  /** Explains the use of the secret, and the validity of the previous one. */
  readonly children?: ReactNode;
  readonly onClose: () => void;
}) {
  const t = useTranslate('components');
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size="lg"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <div className="sy-once">
        <p className="sy-once-warning">
          <Icon name="alert" size={18} />
          <span>{t('secret.once')}</span>
        </p>
        {children !== undefined && <div className="sy-dialogue-text">{children}</div>}
        <dl className="sy-once-facts">
          {facts.map(([label, text]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>
                <CopyableText text={text} label={label} />
              </dd>
            </div>
          ))}
        </dl>
        <div className="sy-confirm-buttons">
          <Button data-autofocus onClick={onClose}>
            {t('secret.kept')}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
