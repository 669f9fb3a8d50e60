/**
 * A point of sale and a simulated terminal in one page, connected through the Retail API and the
 * Cloud Connector.
 */
import './nexo.css';
import { Button } from '@mantine/core';
import type { PortalTerminalView } from '@switchyard/contract';
import type { ReactNode } from 'react';
import { isProblem, SignedOutError } from '../../../api/api-errors.ts';
import { Icon } from '../../../components/icon.tsx';
import { ErrorMessage } from '../../../components/layout/error-message.tsx';
import { Loading } from '../../../components/layout/page.tsx';
import { useTranslate } from '../../../locales/index.ts';
import { MessageLog } from './message-log.tsx';
import type { MoneyAmount } from './point-of-sale.ts';
import { PointOfSalePanel } from './point-of-sale-panel.tsx';
import { TerminalDevice } from './terminal-device.tsx';
import { usePointOfSale } from './use-point-of-sale.ts';
import { type SimulatedTerminal, useSimulatedTerminal } from './use-simulated-terminal.ts';
import { useTerminalKeys } from './use-terminal-keys.ts';
import { Wallet } from './wallet.tsx';

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

const connected: readonly string[] = ['Online', 'Connecting', 'Reconnecting'];

function stateOf({ view, fault }: SimulatedTerminal): PortalTerminalView['connection'] | 'Ended' {
  const isForbidden = isProblem(fault) && fault.problem.status === 403;
  if (fault instanceof SignedOutError || isForbidden) return 'Ended';
  return view?.connection ?? (fault === undefined ? 'Connecting' : 'Refused');
}

function ConnectionControl({ terminal }: { readonly terminal: SimulatedTerminal }) {
  const t = useTranslate('virtual-terminal');
  const { view, fault, act, retry } = terminal;
  const state = stateOf(terminal);
  const isConnected = connected.includes(state);
  return (
    <div className="sy-nexo-cable">
      <p className="sy-nexo-link" data-state={state} role="status">
        <span className="sy-nexo-lamp" aria-hidden="true" />
        {t(`nexo.link.${state}`)}
        {view?.refusal !== undefined && <code> {view.refusal}</code>}
      </p>
      {state === 'ControlledByOtherPage' ? (
        <Button variant="default" onClick={() => act({ type: 'TakeOver' })}>
          {t('nexo.link.takeOver')}
        </Button>
      ) : (
        <Button
          variant="default"
          leftSection={<Icon name={isConnected ? 'offline' : 'link'} size={15} />}
          onClick={() => act({ type: isConnected ? 'Disconnect' : 'Connect' })}
        >
          {t(isConnected ? 'nexo.link.disconnect' : 'nexo.link.connect')}
        </Button>
      )}
      {fault !== undefined && <ErrorMessage fault={fault} onRetry={retry} />}
    </div>
  );
}
