// Validates bodies, queries and path parameters against the schemas of the routes.
import { isErrorCode, ProblemError } from '@switchyard/contract';
import { Ajv2020, type Options } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { isUuid } from '../../platform/index.ts';
import { createCardNumberCheck } from './card-numbers.ts';
import { type FieldFault, fieldErrorsOf, type RequestPart } from './field-errors.ts';

/** Annotations of this project and of OpenAPI without effect on validity. */
const annotations = ['x-codes', 'x-permission', 'example', 'discriminator'];

/** An invalid request with more values gets its first error only, which limits the cost. */
export const diagnosisLimit = 2000;

/** Ajv's own optimization doubles the compile time; V8 optimizes hot code itself. */
const bodyOptions: Options = {
  strict: true,
  removeAdditional: false,
  messages: false,
  code: { optimize: false },
};
/** A URL carries text only, so numbers and booleans are coerced from text. */
const textOptions: Options = {
  ...bodyOptions,
  coerceTypes: true,
  useDefaults: true,
  // `1e400` becomes Infinity, which strict numbers would exempt from the limits of the schema.
  strictNumbers: false,
};

type Check = (value: unknown) => true | { error: ProblemError };

export type SchemaValidation = {
  /** Has the signature of Fastify's validator compiler. */
  compile(route: { schema: unknown; httpPart?: string | undefined }): Check;
};

/** Shared by all servers of the process, so that a schema is compiled once. */
const bodyCheckers = once(() => createCheckers(bodyOptions));
const textCheckers = once(() => createCheckers(textOptions));
/** The first schema of each text: Ajv compiles equal schemas of different routes and servers once. */
const schemasByText = new Map<string, object>();

/** Compiling takes a few milliseconds for each schema: at the first use, or at registration when `eager`. */
export function createSchemaValidation({
  eager = false,
}: {
  eager?: boolean;
} = {}): SchemaValidation {
  return {
    compile({ schema: routeSchema, httpPart }) {
      const part = partOf(httpPart);
      const checkers = part === 'body' ? bodyCheckers : textCheckers;
      const schema = firstEqualSchema(routeSchema as object);
      if (part === 'body') assertClosedObjects(schema);
      const isValid = once(() => checkers().quick.compile(schema));
      const diagnose = once(() => checkers().thorough.compile(schema));
      if (eager) isValid();
      const findCardNumber = once(() =>
        createCardNumberCheck(part === 'body' ? schema : undefined),
      );
      return (value) => {
        if (isValid()(value)) {
          const fault = findCardNumber()(value);
          return fault === undefined ? true : { error: fieldProblem([fault]) };
        }
        const validate = hasAtMostValues(value, diagnosisLimit) ? diagnose() : isValid();
        validate(value);
        return { error: fieldProblem(fieldErrorsOf(validate.errors ?? [], part)) };
      };
    },
  };
}

function firstEqualSchema(schema: object): object {
  const text = JSON.stringify(schema);
  const first = schemasByText.get(text) ?? schema;
  schemasByText.set(text, first);
  return first;
}

function createCheckers(options: Options): { quick: Ajv2020; thorough: Ajv2020 } {
  const create = (more: Options) => {
    const ajv = new Ajv2020({ ...options, ...more });
    addFormats.default(ajv);
    // Ajv accepts a URN as well; PostgreSQL does not.
    ajv.addFormat('uuid', isUuid);
    return ajv.addVocabulary(annotations);
  };
  return {
    quick: create({ verbose: true }),
    // The quick validator has checked the schema itself before.
    thorough: create({ verbose: true, allErrors: true, validateSchema: false }),
  };
}

function once<Made extends object>(make: () => Made): () => Made {
  let made: Made | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function partOf(httpPart: string | undefined): RequestPart {
  if (httpPart === 'querystring') return 'query';
  return httpPart === 'params' ? 'path' : 'body';
}

/** `amount: Must be an integer.`; the text never contains the sent value. */
function fieldErrorText({ pointer, detail }: FieldFault): string {
  const name = pointer.replace(/^[/:?]/, '');
  return name === '' ? detail : `${name}: ${detail}`;
}

function fieldProblem(faults: readonly FieldFault[]): ProblemError {
  const [first] = faults;
  const code = first !== undefined && isErrorCode(first.code) ? first.code : 'field_invalid';
  const detail = faults.map(fieldErrorText).join(' ');
  return new ProblemError(code, detail, { errors: faults });
}

/** Whether a value has at most `limit` members and items; counting stops there. */
function hasAtMostValues(value: unknown, limit: number): boolean {
  let remaining = limit;
  const visit = (part: unknown): boolean => {
    remaining -= 1;
    if (remaining < 0) return false;
    if (typeof part !== 'object' || part === null) return true;
    for (const name in part) {
      if (!visit((part as Record<string, unknown>)[name])) return false;
    }
    return true;
  };
  return visit(value);
}

/** An object schema that is not closed would accept unknown members. */
function assertClosedObjects(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  for (const part of Object.values(schema)) assertClosedObjects(part);
  if (!('properties' in schema) || ('type' in schema && schema.type !== 'object')) return;
  if ('additionalProperties' in schema || 'unevaluatedProperties' in schema) return;
  throw new TypeError(
    `the body schema with the members ${Object.keys(schema.properties ?? {}).join(', ')} must set additionalProperties`,
  );
}
