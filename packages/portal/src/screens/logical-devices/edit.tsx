/** A place is changed; it stays in its store. */
import { useParam } from '../../app/url-params.ts';
import { placeSections } from '../devices/form-sections.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/entity-kinds.ts';

export default function EditPlace() {
  const logicalDeviceId = useParam('logicalDeviceId');
  return (
    <EditEntity
      kind="place"
      address={addresses.place(logicalDeviceId)}
      sections={placeSections}
      backPath={`/places/${logicalDeviceId}`}
    />
  );
}
