/** A merchant is changed. */
import { useParam } from '../../app/use-param.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/kinds.ts';
import { merchantSections } from './sections.ts';

export default function EditMerchant() {
  const merchantId = useParam('merchantId');
  return (
    <EditEntity
      kind="merchant"
      address={addresses.merchant(merchantId)}
      sections={merchantSections}
      back={`/merchants/${merchantId}`}
    />
  );
}
