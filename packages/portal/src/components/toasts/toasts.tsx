/** Short messages at the edge of the window: what was done, and that it was. */
import { CloseButton } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { useTranslate } from '../../locales/index.ts';
import { Icon } from '../icon.tsx';
import { dismiss, onNotices, visibleToasts } from './toast-store.ts';
import './toasts.css';

export default function Notices() {
  const t = useTranslate('components');
  const toasts = useSyncExternalStore(onNotices, visibleToasts);
  return (
    <div className="sy-notices" aria-live="polite">
      {toasts.map(({ id, text, tone }) => (
        <div key={id} className="sy-notice" data-tone={tone}>
          <Icon name={tone === 'good' ? 'check' : 'alert'} />
          <span className="sy-broken">{text}</span>
          <CloseButton size="sm" aria-label={t('close')} onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
