/** The form sections of a store. */
import { addressSection, labelsSection, type Section } from '../../components/forms/form-fields.ts';

const storeFields: Section['fields'] = [
  { name: 'name', kind: 'text', max: 100, isRequired: true },
  { name: 'externalId', kind: 'text', max: 64, hasHint: true },
  { name: 'timeZone', kind: 'zone', hasHint: true },
];

/** Users of a merchant do not select the merchant. */
export const storeFormSections = (asksForMerchant: boolean): readonly Section[] => [
  {
    labelKey: 'store',
    fields: asksForMerchant
      ? [{ name: 'merchantId', kind: 'merchant', isRequired: true, isFixed: true }, ...storeFields]
      : storeFields,
  },
  addressSection,
  labelsSection,
];
