/** A till and a terminal in one page, really connected: messages of the Retail API go through the Cloud Connector. */
import type { ReactNode } from 'react';
import { Loading } from '../../../parts/page.tsx';
import { Cable } from './cable.tsx';
import { Device } from './device.tsx';
import { Messages } from './messages.tsx';
import type { Sum } from './till/till.ts';
import { TillPanel } from './till-panel.tsx';
import { useStation } from './use-station.ts';
import { Wallet } from './wallet.tsx';
import './nexo.css';

export default function NexoStation({
  deviceId,
  asked,
  fields,
}: {
  readonly deviceId: string;
  readonly asked: Sum | undefined;
  readonly fields: ReactNode;
}) {
  const used = useStation(deviceId);
  if (used === undefined) return <Loading />;
  return (
    <>
      <div className="sy-nexo">
        <TillPanel used={used} asked={asked} fields={fields} />
        <div className="sy-nexo-terminal">
          <Device used={used} />
          <Cable used={used} />
        </div>
        <Wallet screen={used.view.screen} present={used.station.present} />
      </div>
      <Messages exchanges={used.view.till.exchanges} />
    </>
  );
}
