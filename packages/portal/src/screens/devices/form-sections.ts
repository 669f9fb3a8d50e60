/** The form sections of devices and logical devices. */
import { labelsSection, type Section } from '../../components/forms/form-fields.ts';

export const logicalDeviceFormSections: readonly Section[] = [
  {
    labelKey: 'place',
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

/** Users of a merchant register devices only for that merchant. */
export const deviceFormSections = (asksForMerchant: boolean): readonly Section[] => [
  { labelKey: 'device', fields: hardware },
  {
    labelKey: 'belongs',
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
