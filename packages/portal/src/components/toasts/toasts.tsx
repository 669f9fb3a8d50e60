/** Shows short messages about completed actions at the edge of the window. */
import { CloseButton } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { useTranslate } from '../../locales/index.ts';
import { Icon } from '../icon.tsx';
import { dismissToast, subscribeToToasts, visibleToasts } from './toast-store.ts';
import './toasts.css';

export default function Toasts() {
  const t = useTranslate('components');
  const toasts = useSyncExternalStore(subscribeToToasts, visibleToasts);
  return (
    <div className="sy-notices" aria-live="polite">
      {toasts.map(({ id, text, tone }) => (
        <div key={id} className="sy-notice" data-tone={tone}>
          <Icon name={tone === 'good' ? 'check' : 'alert'} />
          <span className="sy-broken">{text}</span>
          <CloseButton size="sm" aria-label={t('close')} onClick={() => dismissToast(id)} />
        </div>
      ))}
    </div>
  );
}
