// In tests, compares every answer with what its route declares, so that the document stays true.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { answerHeaders, answerHeadersOf } from './answer-headers.ts';
import type { RouteFacts } from './routes.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Members that the schema does not name are a fault too: clients would come to rely on them. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.entries(schema).map(([name, part]) => [name, closed(part)]);
  const copy: Schema = Object.fromEntries(parts);
  const hasMembers = Object.keys(copy['properties'] ?? {}).length > 0;
  const isOpen = hasMembers && copy['additionalProperties'] === undefined;
  return isOpen && copy['type'] === 'object' ? { ...copy, additionalProperties: false } : copy;
}

/** Of all servers of the process: what a route declares is compiled once. */
const compiled = new WeakMap<object, ValidateFunction>();
let checker: Ajv2020 | undefined;

/** The schemas are our own, and each is used a few times: neither checking nor optimizing them pays. */
function createChecker(): Ajv2020 {
  const code = { optimize: false };
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, code });
  addFormats.default(ajv);
  return ajv;
}

function checkHeaders(facts: RouteFacts, reply: FastifyReply): void {
  const declared = answerHeadersOf(facts, reply.statusCode);
  const more = answerHeaders.filter((name) => reply.hasHeader(name) && !declared.includes(name));
  if (more.length === 0) return;
  throw new Error(`${facts.operationId} ${reply.statusCode} does not declare ${more.join(', ')}`);
}

export function createAnswerCheck() {
  function validatorOf(schema: object): ValidateFunction {
    const known = compiled.get(schema);
    if (known !== undefined) return known;
    checker ??= createChecker();
    const validate = checker.compile(closed(schema) as object);
    compiled.set(schema, validate);
    return validate;
  }

  /** Throws when the answer differs from the schema and the headers of its status. */
  return (request: FastifyRequest, reply: FastifyReply, payload: unknown): void => {
    const facts = request.routeOptions.config.facts;
    if (facts === undefined || reply.statusCode >= 300) return;
    checkHeaders(facts, reply);
    const name = `${facts.operationId} ${reply.statusCode}`;
    const schema = facts.response[reply.statusCode];
    if (schema === undefined || schema === null) throw new Error(`${name} is not declared`);
    const validate = validatorOf(schema);
    // As it will be sent: without what JSON leaves out.
    if (validate(JSON.parse(JSON.stringify(payload)))) return;
    const paths = validate.errors?.map((error) => `${error.instancePath} ${error.message}`);
    throw new Error(`${name} is not as declared: ${paths?.join('; ')}`);
  };
}
