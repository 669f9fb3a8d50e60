/** Edits a merchant. */
import { usePathParam } from '../../app/url-params.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { estateUrls } from '../estate/entity-kinds.ts';
import { merchantSections } from './form-sections.ts';

export default function EditMerchant() {
  const merchantId = usePathParam('merchantId');
  return (
    <EditEntity
      kind="merchant"
      address={estateUrls.merchant(merchantId)}
      sections={merchantSections}
      backPath={`/merchants/${merchantId}`}
    />
  );
}
