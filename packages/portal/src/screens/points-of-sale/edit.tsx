/** A point of sale is changed; it stays in its store. */
import { useParam } from '../../app/url-params.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/entity-kinds.ts';
import { pointOfSaleSections } from './form-sections.ts';

export default function EditPointOfSale() {
  const pointOfSaleId = useParam('pointOfSaleId');
  return (
    <EditEntity
      kind="pointOfSale"
      address={addresses.pointOfSale(pointOfSaleId)}
      sections={pointOfSaleSections}
      backPath={`/points-of-sale/${pointOfSaleId}`}
    />
  );
}
