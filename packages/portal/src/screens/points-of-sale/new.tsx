/** Creates a point of sale and shows its credentials once. */
import type { NewPointOfSale as Made } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useSearchParams } from '../../app/url-params.ts';
import { useTranslate } from '../../locales/index.ts';
import { NewEntity } from '../estate/entity-form.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { CredentialsDialog } from './credentials-dialog.tsx';
import { pointOfSaleFormSections } from './form-sections.ts';

export default function NewPointOfSale() {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const { storeId = '' } = useSearchParams();
  const [made, setMade] = useState<Made | undefined>(undefined);
  return (
    <>
      <NewEntity<Made>
        kind="pointOfSale"
        address={estateApiUrls.pointsOfSale}
        sections={pointOfSaleFormSections}
        preset={storeId === '' ? undefined : { storeId }}
        backLink={{ to: '/points-of-sale', label: t('kinds.pointOfSale.many') }}
        onMade={setMade}
      />
      {made !== undefined && (
        <CredentialsDialog
          clientId={made.clientId}
          clientSecret={made.clientSecret}
          onClose={() => void navigate({ to: `/points-of-sale/${made.pointOfSaleId}` })}
        />
      )}
    </>
  );
}
