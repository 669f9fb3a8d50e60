/** A point of sale is changed; it stays in its store. */
import { useParam } from '../../app/use-param.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { addresses } from '../estate/kinds.ts';
import { pointOfSaleSections } from './sections.ts';

export default function EditPointOfSale() {
  const pointOfSaleId = useParam('pointOfSaleId');
  return (
    <EditEntity
      kind="pointOfSale"
      address={addresses.pointOfSale(pointOfSaleId)}
      sections={pointOfSaleSections}
      back={`/points-of-sale/${pointOfSaleId}`}
    />
  );
}
