/** Edits a merchant. */
import { usePathParam } from '../../app/url-params.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { merchantSections } from './form-sections.ts';

export default function EditMerchant() {
  const merchantId = usePathParam('merchantId');
  return (
    <EditEntity
      kind="merchant"
      address={estateApiUrls.merchant(merchantId)}
      sections={merchantSections}
      backPath={`/merchants/${merchantId}`}
    />
  );
}
