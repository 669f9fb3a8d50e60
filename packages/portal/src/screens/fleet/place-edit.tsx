/** A place is changed; it stays in its store. */
import { useParam } from '../../app/use-param.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/kinds.ts';
import { placeSections } from './sections.ts';

export default function EditPlace() {
  const logicalDeviceId = useParam('logicalDeviceId');
  return (
    <EditEntity
      kind="place"
      address={addresses.place(logicalDeviceId)}
      sections={placeSections}
      back={`/places/${logicalDeviceId}`}
    />
  );
}
