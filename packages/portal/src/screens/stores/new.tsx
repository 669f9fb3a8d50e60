/** A store is opened, of the merchant that it was asked for from. */
import type { Store } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useTexts } from '../../app/url-params.ts';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { NewEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/entity-kinds.ts';
import { storeSections } from './form-sections.ts';

export default function NewStore() {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const session = useSession();
  const { merchantId = '' } = useTexts();
  const asksForMerchant = session.merchantId === undefined;
  return (
    <NewEntity<Store>
      kind="store"
      address={addresses.stores}
      sections={storeSections(asksForMerchant)}
      preset={asksForMerchant && merchantId !== '' ? { merchantId } : undefined}
      backLink={{ to: '/stores', label: t('kinds.store.many') }}
      onMade={({ storeId }) => void navigate({ to: `/stores/${storeId}` })}
    />
  );
}
