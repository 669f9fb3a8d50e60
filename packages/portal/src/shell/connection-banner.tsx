/** Shows a banner while the platform does not respond, and reloads the data afterwards. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { connectionMonitor } from '../api/connection-monitor.ts';
import { Icon } from '../components/icon.tsx';
import { useTranslate } from '../locales/index.ts';

export function ConnectionBanner() {
  const t = useTranslate('shell');
  const client = useQueryClient();
  const isLost = useSyncExternalStore(connectionMonitor.subscribe, connectionMonitor.isLost);
  const wasLost = useRef(false);
  useEffect(() => {
    if (wasLost.current && !isLost) void client.invalidateQueries();
    wasLost.current = isLost;
  }, [isLost, client]);
  return (
    <div role="status">
      {isLost && (
        <div className="sy-banner">
          <Icon name="offline" />
          <span>{t('connectionLost')}</span>
        </div>
      )}
    </div>
  );
}
