/** The list of all devices. */
import { Page } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { NewButton } from '../estate/new-button.tsx';
import { DeviceList } from './device-list.tsx';

export default function Devices() {
  const t = useTranslate('devices');
  const mayMake = useHasPermission('prov.write');
  return (
    <Page
      title={t('title')}
      actions={mayMake && <NewButton kind="device" to="/devices/new" />}
      fill
    >
      <DeviceList />
    </Page>
  );
}
