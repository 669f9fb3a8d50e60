/** A store is changed; it stays with its merchant. */
import { useParam } from '../../app/url-params.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/entity-kinds.ts';
import { storeSections } from './form-sections.ts';

const sections = storeSections(true);

export default function EditStore() {
  const storeId = useParam('storeId');
  return (
    <EditEntity
      kind="store"
      address={addresses.store(storeId)}
      sections={sections}
      backPath={`/stores/${storeId}`}
    />
  );
}
