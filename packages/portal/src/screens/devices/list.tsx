/** The fleet: every device, and whether it is there. */
import { Page } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan } from '../../session/use-session.ts';
import { NewButton } from '../estate/new-button.tsx';
import { Fleet } from './device-list.tsx';

export default function Devices() {
  const t = useTranslate('devices');
  const mayMake = useCan('prov.write');
  return (
    <Page
      title={t('title')}
      {...(mayMake ? { actions: <NewButton kind="device" to="/devices/new" /> } : {})}
      fill
    >
      <Fleet />
    </Page>
  );
}
