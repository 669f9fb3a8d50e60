/** A merchant is changed. */
import { useParam } from '../../app/url-params.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/entity-kinds.ts';
import { merchantSections } from './form-sections.ts';

export default function EditMerchant() {
  const merchantId = useParam('merchantId');
  return (
    <EditEntity
      kind="merchant"
      address={addresses.merchant(merchantId)}
      sections={merchantSections}
      backPath={`/merchants/${merchantId}`}
    />
  );
}
