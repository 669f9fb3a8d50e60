/** Shows the connection status of the terminal, with a button to disconnect. */
import { Button } from '@mantine/core';
import { Icon } from '../../../components/icon.tsx';
import { ErrorMessage } from '../../../components/layout/error-message.tsx';
import { useTranslate } from '../../../locales/index.ts';
import type { OpenNexoSession } from './use-nexo-session.ts';

const connected: readonly string[] = ['Online', 'Connecting', 'Waiting'];

export function ConnectionControl({ used: { session, view } }: { readonly used: OpenNexoSession }) {
  const t = useTranslate('virtual-terminal');
  const { link, fault } = view;
  const { state } = link;
  return (
    <div className="sy-nexo-cable">
      <p className="sy-nexo-link" data-state={state} role="status">
        <span className="sy-nexo-lamp" aria-hidden="true" />
        {t(`nexo.link.${state}`)}
      </p>
      {state === 'Elsewhere' ? (
        <Button variant="default" onClick={session.takeOver}>
          {t('nexo.link.takeOver')}
        </Button>
      ) : (
        <Button
          variant="default"
          leftSection={<Icon name={connected.includes(state) ? 'offline' : 'link'} size={15} />}
          onClick={connected.includes(state) ? session.disconnect : session.connect}
        >
          {t(connected.includes(state) ? 'nexo.link.unplug' : 'nexo.link.plugIn')}
        </Button>
      )}
      {link.state === 'Refused' && <ErrorMessage fault={link.fault} onRetry={session.connect} />}
      {fault !== undefined && <ErrorMessage fault={fault} onRetry={session.clearError} />}
    </div>
  );
}
