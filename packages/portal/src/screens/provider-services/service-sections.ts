/** The form of a service declaration. */
import type { Field } from '../../components/forms/form-fields.ts';
import { plainOptions } from '../../filters/filter-options.ts';

/** Suggested events of QR payment providers. */
const knownEvents = [
  'payment.pending',
  'payment.scanned',
  'payment.authorized',
  'payment.completed',
  'payment.declined',
  'payment.cancelled',
  'payment.expired',
  'payment.failed',
  'refund.completed',
  'refund.declined',
];
const maxItems = 50;
const methods = plainOptions(['consumerscan', 'merchantscan']);

export const catalogueFields: readonly Field[] = [
  { name: 'name', kind: 'text', max: 100, isRequired: true, hasHint: true },
  { name: 'domain', kind: 'text', max: 64, isRequired: true, hasHint: true },
  { name: 'description', kind: 'paragraph', max: 500 },
];

export const serverFields: readonly Field[] = [
  { name: 'spiUrl', kind: 'url', max: 2000, hasHint: true },
  { name: 'paymentTypes', kind: 'words', maxItems, hasHint: true },
  { name: 'methods', kind: 'words', options: methods, maxItems, hasHint: true },
  { name: 'events', kind: 'words', options: plainOptions(knownEvents), maxItems, hasHint: true },
];

/** Examples for new declarations. */
export const jsonExamples: Readonly<Record<string, Record<string, unknown>>> = {
  activationParameters: {
    type: 'object',
    properties: {
      account: { type: 'string', title: 'Your account with us', minLength: 1, maxLength: 32 },
      apiKey: { type: 'string', title: 'Your key', maxLength: 64, writeOnly: true },
    },
    required: ['account'],
    additionalProperties: false,
  },
  parameterSchema: {
    type: 'object',
    properties: {
      receiptLine: { type: 'string', title: 'Line on the receipt', maxLength: 40 },
    },
    additionalProperties: false,
  },
  defaults: { receiptLine: 'Thank you' },
};

export const jsonFields: readonly Field[] = Object.keys(jsonExamples).map((name) => ({
  name,
  kind: 'json',
  hasHint: true,
}));

export const serviceFields: readonly Field[] = [...catalogueFields, ...serverFields, ...jsonFields];
