/** Edits an acquirer link. Waiting messages use the new settings. */
import { usePathParam } from '../../app/url-params.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { linkSections } from './form-sections.ts';

export default function EditLink() {
  const acquirerLinkId = usePathParam('acquirerLinkId');
  return (
    <EditEntity
      kind="link"
      address={estateApiUrls.link(acquirerLinkId)}
      sections={linkSections}
      backPath={`/acquirers/${acquirerLinkId}`}
    />
  );
}
