/** A merchant is taken in. */
import type { Merchant } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useFormats } from '../../session/use-session.ts';
import { useWords } from '../../words/index.ts';
import { NewEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/kinds.ts';
import { merchantSections } from './sections.ts';

export default function NewMerchant() {
  const t = useWords('estate');
  const navigate = useNavigate();
  const { zone } = useFormats();
  return (
    <NewEntity<Merchant>
      kind="merchant"
      address={addresses.merchants}
      sections={merchantSections}
      // Most merchants are where those are who take them in.
      preset={{ timeZone: zone }}
      back={{ to: '/merchants', label: t('kinds.merchant.many') }}
      onMade={({ merchantId }) => void navigate({ to: `/merchants/${merchantId}` })}
    />
  );
}
