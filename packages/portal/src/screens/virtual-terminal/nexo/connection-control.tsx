/** Shows the connection status of the terminal, with a button to disconnect. */
import { Button } from '@mantine/core';
import type { PortalTerminalView } from '@switchyard/contract';
import { isProblem, SignedOutError } from '../../../api/api-errors.ts';
import { Icon } from '../../../components/icon.tsx';
import { ErrorMessage } from '../../../components/layout/error-message.tsx';
import { useTranslate } from '../../../locales/index.ts';
import type { SimulatedTerminal } from './use-simulated-terminal.ts';

const connected: readonly string[] = ['Online', 'Connecting', 'Waiting'];

function stateOf({ view, fault }: SimulatedTerminal): PortalTerminalView['connection'] | 'Ended' {
  const isForbidden = isProblem(fault) && fault.problem.status === 403;
  if (fault instanceof SignedOutError || isForbidden) return 'Ended';
  return view?.connection ?? (fault === undefined ? 'Connecting' : 'Refused');
}

export function ConnectionControl({ terminal }: { readonly terminal: SimulatedTerminal }) {
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
      {state === 'Elsewhere' ? (
        <Button variant="default" onClick={() => act({ type: 'TakeOver' })}>
          {t('nexo.link.takeOver')}
        </Button>
      ) : (
        <Button
          variant="default"
          leftSection={<Icon name={isConnected ? 'offline' : 'link'} size={15} />}
          onClick={() => act({ type: isConnected ? 'Disconnect' : 'Connect' })}
        >
          {t(isConnected ? 'nexo.link.unplug' : 'nexo.link.plugIn')}
        </Button>
      )}
      {fault !== undefined && <ErrorMessage fault={fault} onRetry={retry} />}
    </div>
  );
}
