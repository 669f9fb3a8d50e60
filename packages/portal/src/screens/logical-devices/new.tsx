/** Creates a logical device in a store. */
import type { LogicalDevice } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useSearchParams } from '../../app/url-params.ts';
import { useTranslate } from '../../locales/index.ts';
import { logicalDeviceFormSections } from '../devices/form-sections.ts';
import { NewEntity } from '../estate/entity-form.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';

export default function NewLogicalDevice() {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const { storeId = '' } = useSearchParams();
  const backLink =
    storeId === ''
      ? { to: '/stores', label: t('kinds.store.many') }
      : { to: `/stores/${storeId}`, label: t('kinds.store.one') };
  return (
    <NewEntity<LogicalDevice>
      kind="place"
      address={estateApiUrls.places}
      sections={logicalDeviceFormSections}
      preset={storeId === '' ? undefined : { storeId }}
      backLink={backLink}
      onMade={({ logicalDeviceId }) => void navigate({ to: `/places/${logicalDeviceId}` })}
    />
  );
}
