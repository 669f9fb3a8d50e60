/** What is told once and never again: it stays until somebody says that it is kept. */
import { Button, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslate } from '../../locales/index.ts';
import { Icon } from '../icon.tsx';
import { CopyText } from './copy-text.tsx';
import './one-time-secret-dialog.css';

export function SecretOnce({
  title,
  facts,
  children,
  onClose,
}: {
  readonly title: string;
  readonly facts: readonly (readonly [label: string, text: string])[];
  /** What it is good for, and what becomes of the one before. */
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
                <CopyText text={text} label={label} />
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
