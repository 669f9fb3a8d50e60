/**
 * Edits a contract. Its link, merchant ID and first terminal ID cannot change, because payments
 * refer to them.
 */
import { usePathParam } from '../../app/url-params.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { contractSections } from './form-sections.ts';

export default function EditContract() {
  const merchantId = usePathParam('merchantId');
  const contractId = usePathParam('contractId');
  return (
    <EditEntity
      kind="contract"
      address={estateApiUrls.contract(merchantId, contractId)}
      sections={contractSections}
      backPath={`/merchants/${merchantId}/contracts/${contractId}`}
    />
  );
}
