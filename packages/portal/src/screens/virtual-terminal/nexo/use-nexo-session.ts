/** Runs the Nexo session of a device while the screen is open. */
import { useEffect, useState, useSyncExternalStore } from 'react';
import { type NexoSession, type NexoSessionView, openNexoSession } from './nexo-session.ts';

export type OpenNexoSession = { readonly session: NexoSession; readonly view: NexoSessionView };

const nothing = () => () => {};

export function useNexoSession(deviceId: string | undefined): OpenNexoSession | undefined {
  const [session, setStation] = useState<NexoSession | undefined>(undefined);
  useEffect(() => {
    if (deviceId === undefined) return undefined;
    const opened = openNexoSession(deviceId);
    setStation(opened);
    return () => {
      setStation(undefined);
      opened.close();
    };
  }, [deviceId]);
  const view = useSyncExternalStore(session?.subscribe ?? nothing, () => session?.view());
  return session === undefined || view === undefined ? undefined : { session, view };
}
