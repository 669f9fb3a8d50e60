/** A store is opened, of the merchant that it was asked for from. */
import type { Store } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useTexts } from '../../app/use-param.ts';
import { useSession } from '../../session/use-session.ts';
import { useWords } from '../../words/index.ts';
import { NewEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/kinds.ts';
import { storeSections } from './sections.ts';

export default function NewStore() {
  const t = useWords('estate');
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
      back={{ to: '/stores', label: t('kinds.store.many') }}
      onMade={({ storeId }) => void navigate({ to: `/stores/${storeId}` })}
    />
  );
}
