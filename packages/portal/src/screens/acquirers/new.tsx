/** Creates an acquirer link. */
import type { AcquirerLink } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useTranslate } from '../../locales/index.ts';
import { NewEntity } from '../estate/entity-form.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { linkSections } from './form-sections.ts';

export default function NewLink() {
  const t = useTranslate('acquirers');
  const navigate = useNavigate();
  return (
    <NewEntity<AcquirerLink>
      kind="link"
      address={estateApiUrls.links}
      sections={linkSections}
      backLink={{ to: '/acquirers', label: t('title') }}
      onMade={({ acquirerLinkId }) => void navigate({ to: `/acquirers/${acquirerLinkId}` })}
    />
  );
}
