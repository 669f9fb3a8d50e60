/** Says that the platform does not answer, for as long as it does not, and reads anew once it does. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { connection } from '../api/connection.ts';
import { Icon } from '../parts/icons.tsx';
import { useWords } from '../words/index.ts';

export function ConnectionBanner() {
  const t = useWords('shell');
  const client = useQueryClient();
  const isLost = useSyncExternalStore(connection.subscribe, connection.isLost);
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
