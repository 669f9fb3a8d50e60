/** A declaration as it is typed, and as it is sent. */

import { defined, type Service, type ServiceInput } from '@switchyard/contract';

export type Draft = {
  readonly name: string;
  readonly description: string;
  readonly domain: string;
  readonly spiUrl: string;
  readonly methods: readonly string[];
  readonly paymentTypes: readonly string[];
  readonly events: readonly string[];
  /** JSON, as it is typed. */
  readonly activationParameters: string;
  readonly parameterSchema: string;
  readonly defaults: string;
  readonly logo: Service['logo'];
};

export const jsonFields = ['activationParameters', 'parameterSchema', 'defaults'] as const;
export type JsonField = (typeof jsonFields)[number];

const textOf = (value: object | undefined): string =>
  value === undefined ? '' : JSON.stringify(value, null, 2);

export function draftOf(service: Service | undefined): Draft {
  return {
    name: service?.name ?? '',
    description: service?.description ?? '',
    domain: service?.domain ?? '',
    spiUrl: service?.spiUrl ?? '',
    methods: service?.methods ?? [],
    paymentTypes: service?.paymentTypes ?? [],
    events: service?.events ?? [],
    activationParameters: textOf(service?.activationParameters),
    parameterSchema: textOf(service?.parameterSchema),
    defaults: textOf(service?.defaults),
    logo: service?.logo,
  };
}

/** Undefined where it is no object of JSON. */
export function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The fields that hold something which is no object of JSON. */
export function brokenIn(draft: Draft): readonly JsonField[] {
  return jsonFields.filter(
    (name) => draft[name].trim() !== '' && parsed(draft[name]) === undefined,
  );
}

const givenText = (name: string, text: string) =>
  text.trim() === '' ? {} : { [name]: text.trim() };

/** What is empty is left out, and takes its default. */
export function inputOf(draft: Draft): ServiceInput {
  const { methods, paymentTypes, events, logo } = draft;
  const objects = jsonFields.flatMap((name) => {
    const value = parsed(draft[name]);
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    name: draft.name.trim(),
    domain: draft.domain.trim(),
    ...givenText('description', draft.description),
    ...givenText('spiUrl', draft.spiUrl),
    methods: [...methods],
    paymentTypes: [...paymentTypes],
    events: [...events],
    ...Object.fromEntries(objects),
    ...defined({ logo }),
  };
}

/** To begin with, where somebody has not written one before. */
export const examples: Readonly<Record<JsonField, Record<string, unknown>>> = {
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

export const logoBytesMost = 48 * 1024;
const logoTypes = ['image/png', 'image/jpeg', 'image/webp'] as const;

/** Undefined where it is no picture that the catalogue takes. */
export async function logoOf(file: File): Promise<Service['logo']> {
  const mediaType = logoTypes.find((type) => type === file.type);
  if (mediaType === undefined || file.size > logoBytesMost) return undefined;
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { mediaType, data: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')) };
}
