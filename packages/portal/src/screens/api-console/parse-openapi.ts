/** Parses the OpenAPI document of the platform into operations for the console. */
import { defined } from '@switchyard/contract';

export type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly additionalProperties?: boolean | Schema;
};

type Media = {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
};

type Reference = { readonly $ref: string };

type RawParameter = {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
};

type RawAnswer = {
  readonly description?: string;
  readonly content?: Readonly<Record<string, Media>>;
};

type RawOperation = {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly 'x-permission'?: string | readonly string[];
  readonly parameters?: readonly (RawParameter | Reference)[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, Media>>;
  };
  readonly responses?: Readonly<Record<string, RawAnswer | Reference>>;
};

export type OpenApi = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  readonly components?: {
    readonly schemas?: Readonly<Record<string, Schema>>;
    readonly parameters?: Readonly<Record<string, RawParameter>>;
    readonly responses?: Readonly<Record<string, RawAnswer>>;
  };
};

export type Parameter = {
  readonly name: string;
  readonly location: 'path' | 'query' | 'header';
  readonly isRequired: boolean;
  readonly description: string | undefined;
  readonly schema: Schema;
};

export type RequestBody = {
  readonly type: string;
  readonly schema: Schema | undefined;
  readonly examples: readonly { readonly name: string; readonly value: unknown }[];
};

export type OperationResponse = {
  readonly status: string;
  readonly description: string;
  readonly types: readonly string[];
  readonly schema: Schema | undefined;
};

export type Operation = {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  /**
   * The caller needs one of these permissions; empty for public operations and for any valid token.
   */
  readonly permissions: readonly string[];
  readonly access: 'public' | 'certificate' | 'token' | 'permission';
  readonly parameters: readonly Parameter[];
  readonly bodies: readonly RequestBody[];
  readonly isBodyRequired: boolean;
  readonly answers: readonly OperationResponse[];
};

export type ApiReference = {
  readonly operations: readonly Operation[];
  readonly document: OpenApi;
};

const locations = ['path', 'query', 'header'] as const;
const formType = 'application/x-www-form-urlencoded';

/** Resolves a reference such as `#/components/schemas/Amount`. */
function resolveReference(document: OpenApi, reference: string): unknown {
  const steps = reference.replace(/^#\//, '').split('/');
  let target: unknown = document;
  for (const step of steps) {
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, step))
      return undefined;
    target = (target as Readonly<Record<string, unknown>>)[step];
  }
  return target;
}

const isReference = (value: object): value is Reference => '$ref' in value;

export function resolveSchema(document: OpenApi, schema: Schema | undefined): Schema {
  if (schema?.$ref === undefined) return schema ?? {};
  const target = resolveReference(document, schema.$ref) as Schema | undefined;
  return {
    ...target,
    ...defined({ description: schema.description }),
  };
}

/** The last part of the reference of a named schema. */
export const nameOfSchema = (schema: Schema | undefined): string | undefined =>
  schema?.$ref?.split('/').at(-1);

function parameterOf(
  document: OpenApi,
  rawOrReference: RawParameter | Reference,
): Parameter | undefined {
  const raw = isReference(rawOrReference)
    ? (resolveReference(document, rawOrReference.$ref) as RawParameter | undefined)
    : rawOrReference;
  const location = locations.find((each) => each === raw?.in);
  if (raw === undefined || location === undefined) return undefined;
  return {
    name: raw.name,
    location,
    isRequired: raw.required === true,
    description: raw.description,
    schema: resolveSchema(document, raw.schema),
  };
}

function bodyOf([type, media]: [string, Media]): RequestBody {
  const examples = Object.entries(media.examples ?? {}).map(([name, { value }]) => ({
    name,
    value,
  }));
  const only = media.example === undefined ? [] : [{ name: '', value: media.example }];
  return { type, schema: media.schema, examples: [...examples, ...only] };
}

function answerOf(
  document: OpenApi,
  [status, rawOrReference]: [string, RawAnswer | Reference],
): OperationResponse {
  const raw = isReference(rawOrReference)
    ? (resolveReference(document, rawOrReference.$ref) as RawAnswer | undefined)
    : rawOrReference;
  const content = raw?.content ?? {};
  const types = Object.keys(content);
  return {
    status,
    description: raw?.description ?? '',
    types,
    schema: types[0] === undefined ? undefined : content[types[0]]?.schema,
  };
}

/** Removes the sentence about permissions, because the page shows them separately. */
const withoutRights = ({ description = '' }: RawOperation): string =>
  description.replace(/(?:^|\n\n)Needs [^\n]*$/, '');

const accessOf = (permission: RawOperation['x-permission']): Operation['access'] =>
  permission === 'public' || permission === 'certificate' || permission === 'token'
    ? permission
    : 'permission';

function operationOf(
  document: OpenApi,
  path: string,
  method: string,
  raw: RawOperation,
): Operation {
  const permission = raw['x-permission'];
  const access = accessOf(permission);
  return {
    operationId: raw.operationId,
    method: method.toUpperCase(),
    path,
    access,
    summary: raw.summary,
    description: withoutRights(raw),
    tag: raw.tags?.[0] ?? '',
    permissions: access === 'permission' ? [permission ?? []].flat() : [],
    parameters: (raw.parameters ?? [])
      .map((each) => parameterOf(document, each))
      .filter((each) => each !== undefined),
    bodies: Object.entries(raw.requestBody?.content ?? {}).map(bodyOf),
    isBodyRequired: raw.requestBody?.required === true,
    answers: Object.entries(raw.responses ?? {}).map((each) => answerOf(document, each)),
  };
}

export function parseOperations(document: OpenApi): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]) => operationOf(document, path, method, raw)),
  );
}

/** Whether the operation contains all words of the search text. */
export function matchesSearchText(operation: Operation, text: string): boolean {
  const { operationId, method, path, summary, description, tag } = operation;
  const whole = `${operationId} ${method} ${path} ${summary} ${description} ${tag}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => whole.includes(word));
}

/** A page cannot call operations that need a client certificate or client credentials. */
export const isCallableFromPage = ({ access, bodies }: Operation): boolean =>
  access !== 'certificate' && !bodies.some(({ type }) => type === formType);

export const hasPermissionFor = (
  { access, permissions }: Operation,
  userPermissions: readonly string[],
): boolean => access !== 'permission' || permissions.some((each) => userPermissions.includes(each));

export { formType };
