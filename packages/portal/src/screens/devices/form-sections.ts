/** What hardware and its places are made of, as their forms ask for it. */
import { labelsSection, type Section } from '../estate/form-fields.ts';

export const placeSections: readonly Section[] = [
  {
    word: 'place',
    fields: [
      { name: 'storeId', kind: 'store', isRequired: true, isFixed: true },
      { name: 'name', kind: 'text', max: 100, isRequired: true },
      { name: 'externalId', kind: 'text', max: 64, hasHint: true },
    ],
  },
  labelsSection,
];

const hardware: Section['fields'] = [
  { name: 'serialNumber', kind: 'text', max: 32, isRequired: true, hasHint: true },
  { name: 'make', kind: 'text', max: 24, isRequired: true, hasHint: true },
  { name: 'model', kind: 'text', max: 32, isRequired: true, hasHint: true },
  { name: 'family', kind: 'text', max: 32, isRequired: true, hasHint: true },
];

/** A merchant's own people register their own hardware alone. */
export const deviceSections = (asksForMerchant: boolean): readonly Section[] => [
  { word: 'device', fields: hardware },
  {
    word: 'belongs',
    fields: [
      ...(asksForMerchant
        ? [{ name: 'merchantId', kind: 'merchant', hasHint: true } as const]
        : []),
      { name: 'name', kind: 'text', max: 100 },
      { name: 'externalId', kind: 'text', max: 64, hasHint: true },
    ],
  },
  labelsSection,
];
