/** Creates a contract between an acquirer and a merchant. */
import type { AcquirerContract } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { usePathParam } from '../../app/url-params.ts';
import { useTranslate } from '../../locales/index.ts';
import { NewEntity } from '../estate/entity-form.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { contractSections } from './form-sections.ts';

export default function NewContract() {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const merchantId = usePathParam('merchantId');
  const merchantPath = `/merchants/${merchantId}`;
  return (
    <NewEntity<AcquirerContract>
      kind="contract"
      address={estateApiUrls.contracts(merchantId)}
      sections={contractSections}
      backLink={{ to: merchantPath, label: t('kinds.merchant.one') }}
      onMade={({ contractId }) => void navigate({ to: `${merchantPath}/contracts/${contractId}` })}
    />
  );
}
