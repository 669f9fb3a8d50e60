/** A till and a terminal in one page, really connected: messages of the Retail API go through the Cloud Connector. */
import type { ReactNode } from 'react';
import { Loading } from '../../../components/layout/page.tsx';
import { Cable } from './connection-control.tsx';
import { Messages } from './message-log.tsx';
import type { Sum } from './point-of-sale/point-of-sale.ts';
import { TillPanel } from './point-of-sale-panel.tsx';
import { Device } from './terminal-device.tsx';
import { useStation } from './use-nexo-session.ts';
import { Wallet } from './wallet.tsx';
import './nexo.css';

export default function NexoStation({
  deviceId,
  enteredAmount,
  fields,
}: {
  readonly deviceId: string;
  readonly enteredAmount: Sum | undefined;
  readonly fields: ReactNode;
}) {
  const used = useStation(deviceId);
  if (used === undefined) return <Loading />;
  return (
    <>
      <div className="sy-nexo">
        <TillPanel used={used} enteredAmount={enteredAmount} fields={fields} />
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
