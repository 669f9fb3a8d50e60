/** Edits a logical device; its store cannot change. */
import { usePathParam } from '../../app/url-params.ts';
import { logicalDeviceFormSections } from '../devices/form-sections.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';

export default function EditLogicalDevice() {
  const logicalDeviceId = usePathParam('logicalDeviceId');
  return (
    <EditEntity
      kind="place"
      address={estateApiUrls.place(logicalDeviceId)}
      sections={logicalDeviceFormSections}
      backPath={`/places/${logicalDeviceId}`}
    />
  );
}
