/** How the terminal is connected, in words, and the cable that can be pulled. */
import { Button } from '@mantine/core';
import { Icon } from '../../../components/icon.tsx';
import { Problem } from '../../../components/layout/error-message.tsx';
import { useTranslate } from '../../../locales/index.ts';
import type { UsedStation } from './use-nexo-session.ts';

const connected: readonly string[] = ['Online', 'Connecting', 'Waiting'];

export function Cable({ used: { station, view } }: { readonly used: UsedStation }) {
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
        <Button variant="default" onClick={station.takeOver}>
          {t('nexo.link.takeOver')}
        </Button>
      ) : (
        <Button
          variant="default"
          leftSection={<Icon name={connected.includes(state) ? 'offline' : 'link'} size={15} />}
          onClick={connected.includes(state) ? station.unplug : station.plugIn}
        >
          {t(connected.includes(state) ? 'nexo.link.unplug' : 'nexo.link.plugIn')}
        </Button>
      )}
      {link.state === 'Refused' && <Problem fault={link.fault} onRetry={station.plugIn} />}
      {fault !== undefined && <Problem fault={fault} onRetry={station.forgetFault} />}
    </div>
  );
}
