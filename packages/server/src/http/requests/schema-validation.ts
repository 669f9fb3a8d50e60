// Checks bodies, queries and path parameters against the schemas of the routes.
import { isErrorCode, Refusal } from '@switchyard/contract';
import { Ajv2020, type Options } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type FieldFault, fieldErrorsOf, type RequestPart } from './field-errors.ts';

/** Annotations of ours and of OpenAPI, which say nothing about validity. */
const annotations = ['x-codes', 'x-permission', 'example', 'discriminator'];

/** A faulty request of more values than this is told its first fault alone: a cheap answer. */
export const diagnosisLimit = 2000;

/** The engine optimizes what runs often; doing it here takes as long as the rest of compiling. */
const bodyOptions: Options = {
  strict: true,
  removeAdditional: false,
  messages: false,
  code: { optimize: false },
};
/** Text is all that an address can carry, so numbers and booleans are read out of it. */
const textOptions: Options = {
  ...bodyOptions,
  coerceTypes: true,
  useDefaults: true,
  // `1e400` is read as Infinity, and strictness would leave that out of what limits demand.
  strictNumbers: false,
};

type Check = (value: unknown) => true | { error: Refusal };

export type SchemaValidation = {
  /** The shape of Fastify's validator compiler. */
  compile(route: { schema: unknown; httpPart?: string | undefined }): Check;
};

/** Of all servers of the process: a schema is compiled once, as it never changes. */
const bodyCheckers = once(() => createCheckers(bodyOptions));
const textCheckers = once(() => createCheckers(textOptions));

/** Compiling takes a few milliseconds each: at the first use, unless faults should show at once. */
export function createSchemaValidation({
  eager = false,
}: {
  eager?: boolean;
} = {}): SchemaValidation {
  return {
    compile({ schema, httpPart }) {
      const part = partOf(httpPart);
      const checkers = part === 'body' ? bodyCheckers : textCheckers;
      if (part === 'body') assertClosedObjects(schema);
      const isValid = once(() => checkers().quick.compile(schema as object));
      const diagnose = once(() => checkers().thorough.compile(schema as object));
      if (eager) isValid();
      return (value) => {
        if (isValid()(value)) return true;
        const validate = hasAtMostValues(value, diagnosisLimit) ? diagnose() : isValid();
        validate(value);
        return { error: fieldRefusal(fieldErrorsOf(validate.errors ?? [], part)) };
      };
    },
  };
}

function createCheckers(options: Options): { quick: Ajv2020; thorough: Ajv2020 } {
  const create = (more: Options) => {
    const ajv = new Ajv2020({ ...options, ...more });
    addFormats.default(ajv);
    // The library takes a URN as well, which the database does not.
    ajv.addFormat('uuid', /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i);
    return ajv.addVocabulary(annotations);
  };
  return {
    quick: create({ verbose: true }),
    // What comes to it has passed the other one, which looked at the schema itself.
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

/** `amount: Must be an integer.`; the words come from the schema, never from what was sent. */
function fieldErrorText({ pointer, detail }: FieldFault): string {
  const name = pointer.replace(/^[/:?]/, '');
  return name === '' ? detail : `${name}: ${detail}`;
}

function fieldRefusal(faults: readonly FieldFault[]): Refusal {
  const [first] = faults;
  const code = first !== undefined && isErrorCode(first.code) ? first.code : 'field_invalid';
  const detail = faults.map(fieldErrorText).join(' ');
  return new Refusal(code, detail, { errors: faults });
}

/** Whether a value holds at most `limit` members and items, counted no further than that. */
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

/** A body schema that forgets to close an object would let unknown members pass unseen. */
function assertClosedObjects(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  for (const part of Object.values(schema)) assertClosedObjects(part);
  if (!('properties' in schema) || ('type' in schema && schema.type !== 'object')) return;
  if ('additionalProperties' in schema || 'unevaluatedProperties' in schema) return;
  throw new TypeError(
    `a body schema must say additionalProperties: ${Object.keys(schema.properties ?? {})}`,
  );
}
