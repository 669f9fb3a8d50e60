/** Hardware is changed; where it stands is changed by a move. */
import { useParam } from '../../app/url-params.ts';
import { useSession } from '../../session/use-session.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/entity-kinds.ts';
import { deviceSections } from './form-sections.ts';

export default function EditDevice() {
  const physicalDeviceId = useParam('physicalDeviceId');
  const { merchantId } = useSession();
  return (
    <EditEntity
      kind="device"
      address={addresses.device(physicalDeviceId)}
      sections={deviceSections(merchantId === undefined)}
      backPath={`/devices/${physicalDeviceId}`}
    />
  );
}
