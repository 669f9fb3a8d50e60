/** Edits a device. The move dialog changes its location. */
import { usePathParam } from '../../app/url-params.ts';
import { useSession } from '../../session/use-session.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { deviceFormSections } from './form-sections.ts';

export default function EditDevice() {
  const physicalDeviceId = usePathParam('physicalDeviceId');
  const { merchantId } = useSession();
  return (
    <EditEntity
      kind="device"
      address={estateApiUrls.device(physicalDeviceId)}
      sections={deviceFormSections(merchantId === undefined)}
      backPath={`/devices/${physicalDeviceId}`}
    />
  );
}
