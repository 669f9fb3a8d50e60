/** A place for a terminal is made in a store. */
import type { LogicalDevice } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useTexts } from '../../app/url-params.ts';
import { useTranslate } from '../../locales/index.ts';
import { placeSections } from '../devices/form-sections.ts';
import { NewEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/entity-kinds.ts';

export default function NewPlace() {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const { storeId = '' } = useTexts();
  const backLink =
    storeId === ''
      ? { to: '/stores', label: t('kinds.store.many') }
      : { to: `/stores/${storeId}`, label: t('kinds.store.one') };
  return (
    <NewEntity<LogicalDevice>
      kind="place"
      address={addresses.places}
      sections={placeSections}
      preset={storeId === '' ? undefined : { storeId }}
      backLink={backLink}
      onMade={({ logicalDeviceId }) => void navigate({ to: `/places/${logicalDeviceId}` })}
    />
  );
}
