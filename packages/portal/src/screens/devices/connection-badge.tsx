/** The connection status badge of a device. */
import type { ConnectedDevice, DeviceConnection } from '@switchyard/contract';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';

export function ConnectionBadge({
  connection,
  enabled,
}: {
  readonly connection: DeviceConnection;
  readonly enabled: ConnectedDevice['enabled'];
}) {
  const t = useTranslate('devices');
  const { status, inSession, lastSeenAt } = connection;
  if (status === 'Online' && inSession === true) {
    return (
      <StateBadge state="Online" tone="busy">
        {t('presence.inSession')}
      </StateBadge>
    );
  }
  if (status === 'Online') return <StateBadge state="Online">{t('presence.Online')}</StateBadge>;
  if (!enabled) {
    return (
      <StateBadge state="Disabled" tone="warn">
        {t('presence.Disabled')}
      </StateBadge>
    );
  }
  return (
    <StateBadge state="Offline">
      {t(lastSeenAt === undefined ? 'presence.Never' : 'presence.Offline')}
    </StateBadge>
  );
}
