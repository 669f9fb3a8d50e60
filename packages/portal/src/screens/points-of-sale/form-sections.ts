/** The form sections of a point of sale. */
import { labelsSection, type Section } from '../../components/forms/form-fields.ts';

export const pointOfSaleFormSections: readonly Section[] = [
  {
    labelKey: 'pointOfSale',
    fields: [
      { name: 'storeId', kind: 'store', isRequired: true, isFixed: true },
      { name: 'name', kind: 'text', max: 100, isRequired: true },
      { name: 'externalId', kind: 'text', max: 64, hasHint: true },
    ],
  },
  labelsSection,
];
