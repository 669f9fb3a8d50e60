/** Edits a point of sale; its store cannot change. */
import { usePathParam } from '../../app/url-params.ts';
import { EditEntity } from '../estate/entity-form.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { pointOfSaleFormSections } from './form-sections.ts';

export default function EditPointOfSale() {
  const pointOfSaleId = usePathParam('pointOfSaleId');
  return (
    <EditEntity
      kind="pointOfSale"
      address={estateApiUrls.pointOfSale(pointOfSaleId)}
      sections={pointOfSaleFormSections}
      backPath={`/points-of-sale/${pointOfSaleId}`}
    />
  );
}
