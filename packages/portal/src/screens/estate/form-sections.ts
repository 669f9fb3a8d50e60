/** The form sections of the entity kinds: merchants, stores, devices, points of sale, acquirers. */
import {
  addressSection,
  type Draft,
  labelsSection,
  type Section,
} from '../../components/forms/form-fields.ts';

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

const link: Section = {
  labelKey: 'link',
  fields: [
    { name: 'name', kind: 'text', max: 100, isRequired: true },
    {
      name: 'adapter',
      kind: 'choice',
      options: ['Iso8583Host', 'HttpJson'],
      first: 'Iso8583Host',
      isRequired: true,
      isFixed: true,
      hasHint: true,
    },
    { name: 'host', kind: 'text', max: 253, isRequired: true },
    { name: 'port', kind: 'number', max: 5, isRequired: true },
    { name: 'institutionId', kind: 'text', max: 11, isRequired: true, hasHint: true },
    { name: 'externalId', kind: 'text', max: 64, hasHint: true },
    { name: 'tls', kind: 'switch', first: true, hasHint: true },
    { name: 'clientCertificate', kind: 'text', max: 40, hasHint: true },
  ],
};

const iso8583: readonly Section[] = [
  {
    labelKey: 'iso8583',
    fields: [
      { name: 'dialect', kind: 'text', max: 40, hasHint: true },
      { name: 'connections', kind: 'number', max: 2 },
      { name: 'tpdu', kind: 'text', max: 62, hasHint: true },
    ],
  },
  {
    labelKey: 'linkKeys',
    fields: [
      { name: 'zonePinKey.keyRef', kind: 'text', max: 1024, hasHint: true },
      { name: 'zonePinKey.format', kind: 'choice', options: ['ISO0', 'ISO3', 'ISO4'] },
      { name: 'zonePinKey.keyIndex', kind: 'text', max: 2 },
      { name: 'macKey.keyRef', kind: 'text', max: 1024, hasHint: true },
      { name: 'zoneMasterKey.keyRef', kind: 'text', max: 1024, hasHint: true },
    ],
  },
];

const httpJson: readonly Section[] = [
  {
    labelKey: 'httpJson',
    fields: [
      { name: 'httpJson.path', kind: 'text', max: 200, hasHint: true },
      { name: 'httpJson.acquirerKeys', kind: 'words', max: 43, isRequired: true, hasHint: true },
      { name: 'httpJson.keyVersion', kind: 'number', max: 7, hasHint: true },
    ],
  },
];

export const linkSections = ({ adapter }: Draft): readonly Section[] => [
  link,
  ...(adapter === 'HttpJson' ? httpJson : iso8583),
  labelsSection,
];

const captureModes = ['Immediate', 'Deferred'];

export const contractSections: readonly Section[] = [
  {
    labelKey: 'contract',
    fields: [
      { name: 'acquirerLink', kind: 'link', isRequired: true, isFixed: true },
      {
        name: 'acquirerMerchantId',
        kind: 'text',
        max: 15,
        isRequired: true,
        isFixed: true,
        hasHint: true,
      },
      { name: 'name', kind: 'text', max: 100, hasHint: true },
      { name: 'terminalIdRange.from', kind: 'text', max: 15, isRequired: true, isFixed: true },
      { name: 'terminalIdRange.to', kind: 'text', max: 15, isRequired: true, hasHint: true },
      { name: 'currencies', kind: 'words', max: 3, isRequired: true, hasHint: true },
      { name: 'mcc', kind: 'text', max: 4 },
      { name: 'externalId', kind: 'text', max: 64, hasHint: true },
    ],
  },
  {
    labelKey: 'capture',
    fields: [
      {
        name: 'captureModes',
        kind: 'choices',
        options: captureModes,
        first: captureModes,
        isRequired: true,
      },
      { name: 'defaultCaptureMode', kind: 'choice', options: captureModes },
      { name: 'captureTransport', kind: 'choice', options: ['Advice', 'File'], hasHint: true },
      { name: 'cutOverTime', kind: 'text', max: 5, hasHint: true },
      { name: 'holdDays', kind: 'number', max: 3, hasHint: true },
      { name: 'overCapturePercent', kind: 'number', max: 3, hasHint: true },
    ],
  },
  {
    labelKey: 'allowed',
    fields: [
      { name: 'partialCancel', kind: 'switch', hasHint: true },
      { name: 'multipleCapture', kind: 'switch', hasHint: true },
      { name: 'partialApproval', kind: 'switch', hasHint: true },
      { name: 'clearCardData', kind: 'choice', options: ['Refused', 'Allowed'], hasHint: true },
    ],
  },
  {
    labelKey: 'offline',
    fields: [
      { name: 'offlineLimits.maxAgeHours', kind: 'number', max: 4, hasHint: true },
      { name: 'offlineLimits.maxCount', kind: 'number', max: 6, hasHint: true },
    ],
  },
  labelsSection,
];
