/** A store is changed; it stays with its merchant. */
import { useParam } from '../../app/use-param.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/kinds.ts';
import { storeSections } from './sections.ts';

const sections = storeSections(true);

export default function EditStore() {
  const storeId = useParam('storeId');
  return (
    <EditEntity
      kind="store"
      address={addresses.store(storeId)}
      sections={sections}
      back={`/stores/${storeId}`}
    />
  );
}
