/** Creates a merchant. */
import type { Merchant } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { NewEntity } from '../estate/entity-form.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { merchantSections } from './form-sections.ts';

export default function NewMerchant() {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const { zone } = useFormats();
  return (
    <NewEntity<Merchant>
      kind="merchant"
      address={estateApiUrls.merchants}
      sections={merchantSections}
      // The default is the time zone of the user.
      preset={{ timeZone: zone }}
      backLink={{ to: '/merchants', label: t('kinds.merchant.many') }}
      onMade={({ merchantId }) => void navigate({ to: `/merchants/${merchantId}` })}
    />
  );
}
