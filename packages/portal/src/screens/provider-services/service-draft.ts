/** Converts a service declaration to form values and back. */

import { defined, type Service, type ServiceInput } from '@switchyard/contract';

export type ServiceDraft = {
  readonly name: string;
  readonly description: string;
  readonly domain: string;
  readonly spiUrl: string;
  readonly methods: readonly string[];
  readonly paymentTypes: readonly string[];
  readonly events: readonly string[];
  /** The typed JSON text. */
  readonly activationParameters: string;
  readonly parameterSchema: string;
  readonly defaults: string;
  readonly logo: Service['logo'];
};

export const jsonFields = ['activationParameters', 'parameterSchema', 'defaults'] as const;
export type JsonField = (typeof jsonFields)[number];

const textOf = (value: object | undefined): string =>
  value === undefined ? '' : JSON.stringify(value, null, 2);

export function serviceDraftOf(service: Service | undefined): ServiceDraft {
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

/** Returns undefined if the text is not a JSON object. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The fields whose text is not a JSON object. */
export function invalidJsonFields(draft: ServiceDraft): readonly JsonField[] {
  return jsonFields.filter(
    (name) => draft[name].trim() !== '' && parseJsonObject(draft[name]) === undefined,
  );
}

const givenText = (name: string, text: string) =>
  text.trim() === '' ? {} : { [name]: text.trim() };

/** Empty fields are omitted, so the platform uses its defaults. */
export function serviceInput(draft: ServiceDraft): ServiceInput {
  const { methods, paymentTypes, events, logo } = draft;
  const objects = jsonFields.flatMap((name) => {
    const value = parseJsonObject(draft[name]);
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

/** Examples for new declarations. */
export const jsonExamples: Readonly<Record<JsonField, Record<string, unknown>>> = {
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

export const maxLogoBytes = 48 * 1024;
const logoTypes = ['image/png', 'image/jpeg', 'image/webp'] as const;

/** Returns undefined if the catalogue does not accept the file as a logo. */
export async function readLogo(file: File): Promise<Service['logo']> {
  const mediaType = logoTypes.find((type) => type === file.type);
  if (mediaType === undefined || file.size > maxLogoBytes) return undefined;
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { mediaType, data: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')) };
}
