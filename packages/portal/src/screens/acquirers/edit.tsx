/** A way to an acquirer is changed; messages that wait go the new way. */
import { useParam } from '../../app/url-params.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/entity-kinds.ts';
import { linkSections } from './form-sections.ts';

export default function EditLink() {
  const acquirerLinkId = useParam('acquirerLinkId');
  return (
    <EditEntity
      kind="link"
      address={addresses.link(acquirerLinkId)}
      sections={linkSections}
      backPath={`/acquirers/${acquirerLinkId}`}
    />
  );
}
