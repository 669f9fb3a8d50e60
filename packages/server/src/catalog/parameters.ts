// Checks parameters against the schema that a provider declared for them.
import { type ErrorCode, type FieldError, refuse } from '@switchyard/contract';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { LRUCache } from 'lru-cache';
import { annotations, faultOfSchema, formats } from './parameter-rules.ts';

const compiledMax = 200;
export const parametersLimitBytes = 16_384;

export type ParameterSchema = Readonly<Record<string, unknown>>;

export type Parameters = {
  /** Refuses a schema that is not allowed, at the pointer of its member. */
  demandSchema(pointer: string, schema: ParameterSchema | undefined): void;
  /** Refuses values that do not fit; without a schema there are none. `name` is the schema's own. */
  demandValues(
    pointer: string,
    schema: ParameterSchema | undefined,
    name: string,
    values: Readonly<Record<string, unknown>>,
  ): void;
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

function refuseField(error: FieldError): never {
  return refuse(error.code as ErrorCode, `${error.pointer.slice(1)} ${error.detail}.`, {
    errors: [error],
  });
}

/** Values and names that the client made are not repeated. */
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
  const compiled = new LRUCache<string, ValidateFunction>({ max: compiledMax });
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
        // A range that ends before it begins, a length of a number: only the compiler sees it.
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
      const isFit = compiled.get(name) ?? compile(schema);
      compiled.set(name, isFit);
      if (!isFit(values)) refuseField(faultOf(pointer, isFit.errors?.[0]));
    },
  };
}
