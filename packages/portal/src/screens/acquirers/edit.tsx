/** A way to an acquirer is changed; messages that wait go the new way. */
import { useParam } from '../../app/use-param.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/kinds.ts';
import { linkSections } from './sections.ts';

export default function EditLink() {
  const acquirerLinkId = useParam('acquirerLinkId');
  return (
    <EditEntity
      kind="link"
      address={addresses.link(acquirerLinkId)}
      sections={linkSections}
      back={`/acquirers/${acquirerLinkId}`}
    />
  );
}
