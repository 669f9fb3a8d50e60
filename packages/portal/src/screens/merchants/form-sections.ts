/** The form sections of a merchant. */
import { addressSection, labelsSection, type Section } from '../../components/forms/form-fields.ts';

export const merchantSections: readonly Section[] = [
  {
    labelKey: 'merchant',
    fields: [
      { name: 'name', kind: 'text', max: 100, isRequired: true },
      { name: 'externalId', kind: 'text', max: 64, hasHint: true },
      { name: 'country', kind: 'country', isRequired: true },
      { name: 'timeZone', kind: 'zone', isRequired: true, hasHint: true },
      { name: 'mcc', kind: 'text', max: 4, isRequired: true, hasHint: true },
    ],
  },
  addressSection,
  {
    labelKey: 'contact',
    fields: [
      { name: 'contact.name', kind: 'text', max: 100 },
      { name: 'contact.email', kind: 'email', max: 254 },
      { name: 'contact.phone', kind: 'tel', max: 16, hasHint: true },
    ],
  },
  labelsSection,
];
