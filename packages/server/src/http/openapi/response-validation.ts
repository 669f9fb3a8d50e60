// In tests, validates every response against the declaration of its route, so that the OpenAPI document stays correct.
import { Problem } from '@switchyard/contract';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { problemMediaType } from '../responses/problem-responses.ts';
import { type RouteDeclaration, responseHeaders } from '../routes/route-declaration.ts';
import { responseHeadersOf } from './response-headers.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Rejects undeclared members as well, since clients would rely on them. */
function closeObjects(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closeObjects);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.entries(schema).map(([name, part]) => [name, closeObjects(part)]);
  const copy: Schema = Object.fromEntries(parts);
  const hasMembers = Object.keys(copy['properties'] ?? {}).length > 0;
  const isOpen = hasMembers && copy['additionalProperties'] === undefined;
  return isOpen && copy['type'] === 'object' ? { ...copy, additionalProperties: false } : copy;
}

/** Shared by all servers of the process, so that a schema is compiled once. */
const validators = new WeakMap<object, ValidateFunction>();

const errorsText = ({ errors }: ValidateFunction): string | undefined =>
  errors?.map(({ instancePath, message }) => `${instancePath} ${message}`).join('; ');

let checker: Ajv2020 | undefined;

/** Each schema is used a few times, so checking and optimizing it costs more than it saves. */
function createChecker(): Ajv2020 {
  const code = { optimize: false };
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, code });
  addFormats.default(ajv);
  return ajv;
}

function checkHeaders(facts: RouteDeclaration, reply: FastifyReply): void {
  const declared = responseHeadersOf(facts, reply.statusCode);
  const undeclared = responseHeaders.filter(
    (name) => reply.hasHeader(name) && !declared.includes(name),
  );
  if (undeclared.length === 0) return;
  throw new Error(
    `${facts.operationId} ${reply.statusCode} does not declare ${undeclared.join(', ')}`,
  );
}

function createResponseValidator() {
  function validatorOf(schema: object): ValidateFunction {
    const existing = validators.get(schema);
    if (existing !== undefined) return existing;
    checker ??= createChecker();
    const validate = checker.compile(closeObjects(schema) as object);
    validators.set(schema, validate);
    return validate;
  }

  function checkProblem(payload: unknown): void {
    const validate = validatorOf(Problem);
    if (validate(JSON.parse(String(payload)))) return;
    throw new Error(`The problem response does not match its schema: ${errorsText(validate)}`);
  }

  /** Throws when a JSON body does not match the schema of its status. */
  function body(request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
    const facts = request.routeOptions.config.facts;
    if (facts === undefined || reply.statusCode >= 300) return;
    const name = `${facts.operationId} ${reply.statusCode}`;
    const schema = facts.response[reply.statusCode];
    if (schema === undefined || schema === null) throw new Error(`${name} is not declared`);
    const validate = validatorOf(schema);
    // As it will be sent, without undefined members.
    if (validate(JSON.parse(JSON.stringify(payload)))) return;
    throw new Error(`${name} does not match its schema: ${errorsText(validate)}`);
  }

  /** Throws when the response has an undeclared header, or a problem does not match its schema. */
  function sent(request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
    if (reply.getHeader('content-type') === problemMediaType) checkProblem(payload);
    const facts = request.routeOptions.config.facts;
    if (facts === undefined || facts.isHidden === true) return;
    if (reply.statusCode < 300 || reply.statusCode === 304) checkHeaders(facts, reply);
  }

  return { body, sent };
}

/** Every undeclared body or header becomes an internal error. */
export function validateResponses(app: FastifyInstance): void {
  const check = createResponseValidator();
  app.addHook('preSerialization', async (request, reply, payload) => {
    check.body(request, reply, payload);
    return payload;
  });
  app.addHook('onSend', async (request, reply, payload) => {
    check.sent(request, reply, payload);
    return payload;
  });
}
