/**
 * A point of sale and a terminal in one page, connected through the Retail API and the Cloud
 * Connector.
 */
import type { ReactNode } from 'react';
import { Loading } from '../../../components/layout/page.tsx';
import { ConnectionControl } from './connection-control.tsx';
import { MessageLog } from './message-log.tsx';
import type { MoneyAmount } from './point-of-sale/point-of-sale.ts';
import { PointOfSalePanel } from './point-of-sale-panel.tsx';
import { TerminalDevice } from './terminal-device.tsx';
import { useNexoSession } from './use-nexo-session.ts';
import { Wallet } from './wallet.tsx';
import './nexo.css';

export default function NexoDemo({
  deviceId,
  enteredAmount,
  fields,
}: {
  readonly deviceId: string;
  readonly enteredAmount: MoneyAmount | undefined;
  readonly fields: ReactNode;
}) {
  const used = useNexoSession(deviceId);
  if (used === undefined) return <Loading />;
  return (
    <>
      <div className="sy-nexo">
        <PointOfSalePanel used={used} enteredAmount={enteredAmount} fields={fields} />
        <div className="sy-nexo-terminal">
          <TerminalDevice used={used} />
          <ConnectionControl used={used} />
        </div>
        <Wallet screen={used.view.screen} present={used.session.present} />
      </div>
      <MessageLog exchanges={used.view.pointOfSale.exchanges} />
    </>
  );
}
