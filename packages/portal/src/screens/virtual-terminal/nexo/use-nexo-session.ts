/** The station of a device for as long as the screen shows it. */
import { useEffect, useState, useSyncExternalStore } from 'react';
import { openStation, type Station, type StationView } from './nexo-session.ts';

export type UsedStation = { readonly station: Station; readonly view: StationView };

const nothing = () => () => {};

export function useStation(deviceId: string | undefined): UsedStation | undefined {
  const [station, setStation] = useState<Station | undefined>(undefined);
  useEffect(() => {
    if (deviceId === undefined) return undefined;
    const opened = openStation(deviceId);
    setStation(opened);
    return () => {
      setStation(undefined);
      opened.close();
    };
  }, [deviceId]);
  const view = useSyncExternalStore(station?.subscribe ?? nothing, () => station?.view());
  return station === undefined || view === undefined ? undefined : { station, view };
}
