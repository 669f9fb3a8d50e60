// Checks parameters against the schema that a provider declared for them.
import { type ErrorCode, type FieldError, throwProblem } from '@switchyard/contract';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { LRUCache } from 'lru-cache';
import { lruCacheOptions } from '../../platform/index.ts';
import { allowedFormats, annotationKeywords, findSchemaFault } from './parameter-schema-rules.ts';

const compiledSchemasMax = 200;
export const parametersMaxBytes = 16_384;

export type ParameterSchema = Readonly<Record<string, unknown>>;

export type ParameterValidator = {
  /** Refuses a schema that is not allowed, with a pointer to the faulty part. */
  requireValidSchema(pointer: string, schema: ParameterSchema | undefined): void;
  /**
   * Refuses values that do not fit; without a schema, no values are allowed. `name` is the cache
   * key.
   */
  requireValidValues(
    pointer: string,
    schema: ParameterSchema | undefined,
    name: string,
    values: Readonly<Record<string, unknown>>,
  ): void;
  /**
   * Returns the first fault, with a pointer that starts at the values. Without a `name`, the
   * compiled schema is not cached. The check stops at the first fault, so that no pattern runs on a
   * long text.
   */
  findFault(
    schema: ParameterSchema,
    name: string | undefined,
    values: Readonly<Record<string, unknown>>,
  ): FieldError | undefined;
};

const codesByKeyword: Readonly<Record<string, ErrorCode>> = {
  required: 'field_required',
  additionalProperties: 'field_unknown',
};

function compileSchema(schema: ParameterSchema): ValidateFunction {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, logger: false, messages: false });
  addFormats.default(ajv, { mode: 'fast', formats: [...allowedFormats] });
  ajv.addVocabulary([...annotationKeywords]);
  return ajv.compile(schema);
}

/**
 * A client may put anything into a member name, even a card number; the pointer stops above it.
 * Names of card applications (AIDs) and of their keys are not card numbers.
 */
const safeName =
  /^(?:(?!.*[0-9]{8})(?:[A-Za-z0-9_.:-]|~[01]){1,64}|A0000[0-9A-F]{5,28}(?:-[0-9A-F]{2})?)$/;

export function redactPointer(pointer: string): string {
  const names = pointer.split('/').slice(1);
  const end = names.findIndex((name) => !safeName.test(name));
  return (end < 0 ? names : names.slice(0, end)).map((name) => `/${name}`).join('');
}

/** Refuses the request with at least one error. */
export function throwFieldProblems(errors: readonly FieldError[]): never {
  const safeErrors = errors.map((error) => ({ ...error, pointer: redactPointer(error.pointer) }));
  const sentences = safeErrors.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}.`);
  return throwProblem(safeErrors[0]?.code as ErrorCode, sentences.join(' '), {
    errors: safeErrors,
  });
}

function throwSingleFieldProblem(error: FieldError): never {
  return throwFieldProblems([error]);
}

/** The error does not repeat values and names that the client sent. */
function toFieldError(pointer: string, ajvError: ErrorObject | undefined): FieldError {
  const { keyword = '', instancePath = '', params = {} } = ajvError ?? {};
  const missing = keyword === 'required' ? `/${String(params['missingProperty'])}` : '';
  return {
    pointer: `${pointer}${instancePath}${missing}`,
    code: codesByKeyword[keyword] ?? 'field_invalid',
    detail: `does not fit the schema of the service (${keyword})`,
  };
}

/** @example const parameterValidator = createParameterValidator(); */
export function createParameterValidator(): ParameterValidator {
  const compiled = new LRUCache<string, ValidateFunction>(lruCacheOptions(compiledSchemasMax));
  function compileCached(schema: ParameterSchema, name: string): ValidateFunction {
    const validate = compiled.get(name) ?? compileSchema(schema);
    compiled.set(name, validate);
    return validate;
  }
  return {
    requireValidSchema(pointer, schema) {
      if (schema === undefined) return;
      const fault = findSchemaFault(schema);
      if (fault !== undefined) {
        const { detail } = fault;
        throwSingleFieldProblem({
          pointer: `${pointer}${fault.pointer}`,
          code: 'field_invalid',
          detail,
        });
      }
      try {
        compileSchema(schema);
      } catch {
        // Only the compiler finds a range that ends before it begins, or a length on a number.
        throwSingleFieldProblem({ pointer, code: 'field_invalid', detail: 'contradicts itself' });
      }
    },
    requireValidValues(pointer, schema, name, values) {
      if (schema === undefined) {
        if (Object.keys(values).length === 0) return;
        throwSingleFieldProblem({
          pointer,
          code: 'field_unknown',
          detail: 'is not known to the service',
        });
      }
      if (Buffer.byteLength(JSON.stringify(values)) > parametersMaxBytes) {
        const detail = `is longer than ${parametersMaxBytes} bytes`;
        throwSingleFieldProblem({ pointer, code: 'field_invalid', detail });
      }
      const validate = compileCached(schema, name);
      if (!validate(values)) throwSingleFieldProblem(toFieldError(pointer, validate.errors?.[0]));
    },
    findFault(schema, name, values) {
      const validate = name === undefined ? compileSchema(schema) : compileCached(schema, name);
      return validate(values) ? undefined : toFieldError('', validate.errors?.[0]);
    },
  };
}
