/** A way to an acquirer is set up. */
import type { AcquirerLink } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useWords } from '../../words/index.ts';
import { NewEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/kinds.ts';
import { linkSections } from './sections.ts';

export default function NewLink() {
  const t = useWords('acquirers');
  const navigate = useNavigate();
  return (
    <NewEntity<AcquirerLink>
      kind="link"
      address={addresses.links}
      sections={linkSections}
      back={{ to: '/acquirers', label: t('title') }}
      onMade={({ acquirerLinkId }) => void navigate({ to: `/acquirers/${acquirerLinkId}` })}
    />
  );
}
