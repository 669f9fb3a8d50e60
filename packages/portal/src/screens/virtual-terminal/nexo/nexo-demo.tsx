/**
 * A point of sale and a simulated terminal in one page, connected through the Retail API and the
 * Cloud Connector.
 */
import type { ReactNode } from 'react';
import { Loading } from '../../../components/layout/page.tsx';
import { ConnectionControl } from './connection-control.tsx';
import { MessageLog } from './message-log.tsx';
import type { MoneyAmount } from './point-of-sale.ts';
import { PointOfSalePanel } from './point-of-sale-panel.tsx';
import { TerminalDevice } from './terminal-device.tsx';
import { usePointOfSale } from './use-point-of-sale.ts';
import { useSimulatedTerminal } from './use-simulated-terminal.ts';
import { useTerminalKeys } from './use-terminal-keys.ts';
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
  const terminal = useSimulatedTerminal(deviceId);
  const keys = useTerminalKeys(terminal);
  const { view, fault } = terminal;
  const pointOfSale = usePointOfSale(deviceId, view?.tsn);
  if (view === undefined && fault === undefined) return <Loading />;
  const { exchanges, ended } = pointOfSale.view;
  return (
    <>
      <div className="sy-nexo">
        <PointOfSalePanel used={pointOfSale} enteredAmount={enteredAmount} fields={fields} />
        <div className="sy-nexo-terminal">
          <TerminalDevice view={view} keys={keys} receipt={ended?.receipt ?? []} />
          <ConnectionControl terminal={terminal} />
        </div>
        <Wallet
          key={view?.tsn}
          cards={view?.cards ?? []}
          acceptedEntries={keys.display.entries}
          present={keys.present}
        />
      </div>
      <MessageLog exchanges={exchanges} />
    </>
  );
}
