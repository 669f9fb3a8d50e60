/** A contract is changed; its link, number and first terminal stay, since payments refer to them. */
import { useParam } from '../../app/url-params.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/entity-kinds.ts';
import { contractSections } from './form-sections.ts';

export default function EditContract() {
  const merchantId = useParam('merchantId');
  const contractId = useParam('contractId');
  return (
    <EditEntity
      kind="contract"
      address={addresses.contract(merchantId, contractId)}
      sections={contractSections}
      backPath={`/merchants/${merchantId}/contracts/${contractId}`}
    />
  );
}
