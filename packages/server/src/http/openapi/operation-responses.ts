// The responses of an operation: the declared ones and the problem responses that follow from its declaration.
import { type ErrorCode, errorCodes } from '@switchyard/contract';
import { problemMediaType } from '../responses/problem-responses.ts';
import type { ResponseHeader, RouteDeclaration } from '../routes/route-declaration.ts';
import type { JsonObject, SchemaNames } from './named-schemas.ts';
import { responseHeadersOf } from './response-headers.ts';

const commonErrors: ErrorCode[] = [
  'not_acceptable',
  'uri_too_long',
  'rate_limited',
  'internal_error',
  'overloaded',
  'shutting_down',
];
const certificateErrors: ErrorCode[] = [
  'certificate_required',
  'certificate_invalid',
  'certificate_expired',
  'certificate_revoked',
];
const tokenErrors: ErrorCode[] = ['token_missing', 'token_invalid', 'token_expired'];
const bodyErrors: ErrorCode[] = ['payload_too_large', 'unsupported_media_type', 'malformed_json'];
const fieldErrors: ErrorCode[] = ['field_required', 'field_unknown', 'field_invalid'];

/** The error codes that a schema and its parts declare. */
function annotatedCodes(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const codes = 'x-codes' in schema ? Object.values(schema['x-codes'] as JsonObject) : [];
  return [...codes.map(String), ...Object.values(schema).flatMap(annotatedCodes)];
}

/** Every error code of the operation, in the order of the closed list. */
export function errorCodesOf(facts: RouteDeclaration): ErrorCode[] {
  const { permission, body, query, params, errors } = facts;
  const possible = new Set<string>([...commonErrors, ...errors]);
  const add = (codes: readonly string[]) => {
    for (const code of codes) possible.add(code);
  };
  const takesNoToken = permission === 'public' || permission === 'certificate';
  if (permission === 'certificate') add(certificateErrors);
  if (!takesNoToken) add(tokenErrors);
  if (!takesNoToken && permission !== 'token') add(['permission_denied']);
  if (body !== undefined) add(bodyErrors);
  if (body !== undefined || query !== undefined) add(fieldErrors);
  if (params !== undefined) add(['field_invalid']);
  for (const schema of [body, query, params]) add(annotatedCodes(schema));
  return (Object.keys(errorCodes) as ErrorCode[]).filter((code) => possible.has(code));
}

const statusTexts: Record<number, string> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Accepted; the result follows.',
  204: 'Done. The response has no body.',
  304: 'Not changed since the last read.',
};

export function operationResponses(facts: RouteDeclaration, names: SchemaNames): JsonObject {
  const responses: JsonObject = {};
  for (const [status, schema] of Object.entries(facts.response)) {
    const statusText = facts.statusDescriptions?.[Number(status)] ?? statusTexts[Number(status)];
    const description = schemaDescription(schema) ?? statusText ?? 'A response.';
    const types =
      status === '200' ? (facts.produces ?? ['application/json']) : ['application/json'];
    const content =
      schema === null
        ? {}
        : { content: Object.fromEntries(types.map((type) => [type, contentOf(schema, names)])) };
    responses[status] = { description, headers: headersOf(facts, Number(status)), ...content };
  }
  return facts.hasOwnErrors === true ? responses : { ...responses, ...problemsOf(facts, names) };
}

function schemaDescription(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null || !('description' in schema)) return undefined;
  return String(schema.description);
}

function contentOf(schema: unknown, names: SchemaNames): JsonObject {
  return { schema: names.reference(schema) };
}

const shared = (name: string): JsonObject => ({ $ref: `#/components/headers/${name}` });
const requestIdHeader = { 'X-Request-Id': shared('RequestId') };
/** The headers of every response of the request pipeline. */
const commonHeaders = {
  ...requestIdHeader,
  RateLimit: shared('RateLimit'),
  'RateLimit-Policy': shared('RateLimitPolicy'),
};
const headerReferences: Readonly<Record<ResponseHeader, JsonObject>> = {
  'Content-Disposition': shared('ContentDisposition'),
  'Content-Range': shared('ContentRange'),
  ETag: shared('ETag'),
  'Idempotent-Replayed': shared('IdempotentReplayed'),
  Location: shared('Location'),
  'Retry-After': shared('RetryAfter'),
};
const problemHeaders: Record<number, JsonObject> = {
  401: { 'WWW-Authenticate': shared('Challenge') },
  405: { Allow: shared('Allow') },
};

/** The headers of a deprecated operation, also in its problem responses. */
const deprecationHeaders = ({ deprecated }: RouteDeclaration): JsonObject =>
  deprecated === undefined
    ? {}
    : { Deprecation: shared('Deprecation'), Sunset: shared('Sunset'), Link: shared('Successor') };

function headersOf(facts: RouteDeclaration, status: number): JsonObject {
  const declared = responseHeadersOf(facts, status).map((name) => [name, headerReferences[name]]);
  return {
    ...(facts.hasOwnErrors === true ? requestIdHeader : commonHeaders),
    ...deprecationHeaders(facts),
    ...Object.fromEntries(declared),
  };
}

/** A retryable problem may have Retry-After. */
const isRetryable = (codes: readonly ErrorCode[]): boolean =>
  codes.some((code) => errorCodes[code].retryable);

function problemsOf(facts: RouteDeclaration, names: SchemaNames): JsonObject {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorCodesOf(facts)) {
    const { status } = errorCodes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const responses: JsonObject = {};
  for (const [status, codes] of byStatus) {
    responses[status] = names.shareResponse(`Problem-${status}`, {
      description: codes.map((code) => `\`${code}\`: ${errorCodes[code].title}.`).join('\n\n'),
      headers: {
        ...commonHeaders,
        ...deprecationHeaders(facts),
        ...problemHeaders[status],
        ...(isRetryable(codes) ? { 'Retry-After': headerReferences['Retry-After'] } : {}),
      },
      content: { [problemMediaType]: { schema: problemSchema(codes) } },
    });
  }
  return responses;
}

function problemSchema(codes: readonly ErrorCode[]): JsonObject {
  return {
    allOf: [
      { $ref: '#/components/schemas/Problem' },
      { type: 'object', properties: { code: { enum: codes } } },
    ],
  };
}
