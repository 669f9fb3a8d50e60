/** What a point of sale is made of, as its form asks for it. */
import { labelsSection, type Section } from '../estate/form-fields.ts';

export const pointOfSaleSections: readonly Section[] = [
  {
    word: 'pointOfSale',
    fields: [
      { name: 'storeId', kind: 'store', isRequired: true, isFixed: true },
      { name: 'name', kind: 'text', max: 100, isRequired: true },
      { name: 'externalId', kind: 'text', max: 64, hasHint: true },
    ],
  },
  labelsSection,
];
