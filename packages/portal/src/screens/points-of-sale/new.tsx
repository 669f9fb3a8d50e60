/** A point of sale is made, and its credentials are told this once. */
import type { NewPointOfSale as Made } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTexts } from '../../app/url-params.ts';
import { useTranslate } from '../../locales/index.ts';
import { NewEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/entity-kinds.ts';
import { Credentials } from './credentials.tsx';
import { pointOfSaleSections } from './form-sections.ts';

export default function NewPointOfSale() {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const { storeId = '' } = useTexts();
  const [made, setMade] = useState<Made | undefined>(undefined);
  return (
    <>
      <NewEntity<Made>
        kind="pointOfSale"
        address={addresses.pointsOfSale}
        sections={pointOfSaleSections}
        preset={storeId === '' ? undefined : { storeId }}
        backLink={{ to: '/points-of-sale', label: t('kinds.pointOfSale.many') }}
        onMade={setMade}
      />
      {made !== undefined && (
        <Credentials
          clientId={made.clientId}
          clientSecret={made.clientSecret}
          onClose={() => void navigate({ to: `/points-of-sale/${made.pointOfSaleId}` })}
        />
      )}
    </>
  );
}
