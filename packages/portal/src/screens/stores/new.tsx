/** Creates a store for the merchant of the previous page. */
import type { Store } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useSearchParams } from '../../app/url-params.ts';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { NewEntity } from '../estate/entity-form.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { storeFormSections } from './form-sections.ts';

export default function NewStore() {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const session = useSession();
  const { merchantId = '' } = useSearchParams();
  const asksForMerchant = session.merchantId === undefined;
  return (
    <NewEntity<Store>
      kind="store"
      address={estateApiUrls.stores}
      sections={storeFormSections(asksForMerchant)}
      preset={asksForMerchant && merchantId !== '' ? { merchantId } : undefined}
      backLink={{ to: '/stores', label: t('kinds.store.many') }}
      onMade={({ storeId }) => void navigate({ to: `/stores/${storeId}` })}
    />
  );
}
