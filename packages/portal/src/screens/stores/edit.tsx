/** Edits a store; its merchant cannot change. */
import { usePathParam } from '../../app/url-params.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { storeFormSections } from './form-sections.ts';

const sections = storeFormSections(true);

export default function EditStore() {
  const storeId = usePathParam('storeId');
  return (
    <EditEntity
      kind="store"
      address={estateApiUrls.store(storeId)}
      sections={sections}
      backPath={`/stores/${storeId}`}
    />
  );
}
