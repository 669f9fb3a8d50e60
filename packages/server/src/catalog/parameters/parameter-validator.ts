// Checks parameters against the schema that a provider declared for them.
import { type ErrorCode, type FieldError, throwProblem } from '@switchyard/contract';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { LRUCache } from 'lru-cache';
import { lruCacheOptions } from '../../platform/index.ts';
import { annotations, faultOfSchema, formats } from './parameter-schema-rules.ts';

const compiledMax = 200;
export const parametersLimitBytes = 16_384;

export type ParameterSchema = Readonly<Record<string, unknown>>;

export type Parameters = {
  /** Refuses a schema that is not allowed, with a pointer to the faulty part. */
  demandSchema(pointer: string, schema: ParameterSchema | undefined): void;
  /**
   * Refuses values that do not fit; without a schema, no values are allowed. `name` is the cache
   * key.
   */
  demandValues(
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
  faultIn(
    schema: ParameterSchema,
    name: string | undefined,
    values: Readonly<Record<string, unknown>>,
  ): FieldError | undefined;
};

const codes: Readonly<Record<string, ErrorCode>> = {
  required: 'field_required',
  additionalProperties: 'field_unknown',
};

function compile(schema: ParameterSchema): ValidateFunction {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, logger: false, messages: false });
  addFormats.default(ajv, { mode: 'fast', formats: [...formats] });
  ajv.addVocabulary([...annotations]);
  return ajv.compile(schema);
}

/**
 * A client may put anything into a member name, even a card number; the pointer stops above it.
 * Names of card applications (AIDs) and of their keys are not card numbers.
 */
const showableName =
  /^(?:(?!.*[0-9]{8})(?:[A-Za-z0-9_.:-]|~[01]){1,64}|A0000[0-9A-F]{5,28}(?:-[0-9A-F]{2})?)$/;

export function shownPointer(pointer: string): string {
  const names = pointer.split('/').slice(1);
  const end = names.findIndex((name) => !showableName.test(name));
  return (end < 0 ? names : names.slice(0, end)).map((name) => `/${name}`).join('');
}

/** Refuses the request with at least one error. */
export function refuseFields(errors: readonly FieldError[]): never {
  const shown = errors.map((error) => ({ ...error, pointer: shownPointer(error.pointer) }));
  const sentences = shown.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}.`);
  return throwProblem(shown[0]?.code as ErrorCode, sentences.join(' '), { errors: shown });
}

function refuseField(error: FieldError): never {
  return refuseFields([error]);
}

/** The error does not repeat values and names that the client sent. */
function faultOf(pointer: string, found: ErrorObject | undefined): FieldError {
  const { keyword = '', instancePath = '', params = {} } = found ?? {};
  const missing = keyword === 'required' ? `/${String(params['missingProperty'])}` : '';
  return {
    pointer: `${pointer}${instancePath}${missing}`,
    code: codes[keyword] ?? 'field_invalid',
    detail: `does not fit the schema of the service (${keyword})`,
  };
}

/** @example const parameters = createParameters(); */
export function createParameters(): Parameters {
  const compiled = new LRUCache<string, ValidateFunction>(lruCacheOptions(compiledMax));
  function checkOf(schema: ParameterSchema, name: string): ValidateFunction {
    const isFit = compiled.get(name) ?? compile(schema);
    compiled.set(name, isFit);
    return isFit;
  }
  return {
    demandSchema(pointer, schema) {
      if (schema === undefined) return;
      const fault = faultOfSchema(schema);
      if (fault !== undefined) {
        const { detail } = fault;
        refuseField({ pointer: `${pointer}${fault.pointer}`, code: 'field_invalid', detail });
      }
      try {
        compile(schema);
      } catch {
        // Only the compiler finds a range that ends before it begins, or a length on a number.
        refuseField({ pointer, code: 'field_invalid', detail: 'contradicts itself' });
      }
    },
    demandValues(pointer, schema, name, values) {
      if (schema === undefined) {
        if (Object.keys(values).length === 0) return;
        refuseField({ pointer, code: 'field_unknown', detail: 'is not known to the service' });
      }
      if (Buffer.byteLength(JSON.stringify(values)) > parametersLimitBytes) {
        const detail = `is longer than ${parametersLimitBytes} bytes`;
        refuseField({ pointer, code: 'field_invalid', detail });
      }
      const isFit = checkOf(schema, name);
      if (!isFit(values)) refuseField(faultOf(pointer, isFit.errors?.[0]));
    },
    faultIn(schema, name, values) {
      const isFit = name === undefined ? compile(schema) : checkOf(schema, name);
      return isFit(values) ? undefined : faultOf('', isFit.errors?.[0]);
    },
  };
}
