/** What a store is made of, as its form asks for it. */
import { addressSection, labelsSection, type Section } from '../estate/form-fields.ts';

const storeFields: Section['fields'] = [
  { name: 'name', kind: 'text', max: 100, isRequired: true },
  { name: 'externalId', kind: 'text', max: 64, hasHint: true },
  { name: 'timeZone', kind: 'zone', hasHint: true },
];

/** A merchant's own people need not say whose store it is. */
export const storeSections = (asksForMerchant: boolean): readonly Section[] => [
  {
    word: 'store',
    fields: asksForMerchant
      ? [{ name: 'merchantId', kind: 'merchant', isRequired: true, isFixed: true }, ...storeFields]
      : storeFields,
  },
  addressSection,
  labelsSection,
];
