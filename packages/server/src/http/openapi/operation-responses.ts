// Lists what an operation can answer: its own answers, and the problems of its kind.
import { type ErrorCode, errorCodes } from '@switchyard/contract';
import { problemMediaType } from '../responses/problem-responses.ts';
import type { AnswerHeader, RouteFacts } from '../routes/route-declaration.ts';
import type { JsonObject, SchemaNames } from './named-schemas.ts';
import { answerHeadersOf } from './response-headers.ts';

const always: ErrorCode[] = [
  'not_acceptable',
  'uri_too_long',
  'rate_limited',
  'internal_error',
  'overloaded',
  'shutting_down',
];
const withCertificate: ErrorCode[] = [
  'certificate_required',
  'certificate_invalid',
  'certificate_expired',
  'certificate_revoked',
];
const withToken: ErrorCode[] = ['token_missing', 'token_invalid', 'token_expired'];
const withBody: ErrorCode[] = ['payload_too_large', 'unsupported_media_type', 'malformed_json'];
const withFields: ErrorCode[] = ['field_required', 'field_unknown', 'field_invalid'];

/** The codes that a schema gives to its own faults, wherever they stand in it. */
function annotatedCodes(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = 'x-codes' in schema ? Object.values(schema['x-codes'] as JsonObject) : [];
  return [...own.map(String), ...Object.values(schema).flatMap(annotatedCodes)];
}

/** Every code that the operation can give, in the order of the closed list. */
export function codesOf(facts: RouteFacts): ErrorCode[] {
  const { permission, body, query, params, errors } = facts;
  const found = new Set<string>([...always, ...errors]);
  const add = (codes: readonly string[]) => {
    for (const code of codes) found.add(code);
  };
  const takesNoToken = permission === 'public' || permission === 'certificate';
  if (permission === 'certificate') add(withCertificate);
  if (!takesNoToken) add(withToken);
  if (!takesNoToken && permission !== 'token') add(['permission_denied']);
  if (body !== undefined) add(withBody);
  if (body !== undefined || query !== undefined) add(withFields);
  if (params !== undefined) add(['field_invalid']);
  for (const schema of [body, query, params]) add(annotatedCodes(schema));
  return (Object.keys(errorCodes) as ErrorCode[]).filter((code) => found.has(code));
}

const statusTexts: Record<number, string> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Accepted; the outcome follows.',
  204: 'Done, without a body.',
  304: 'Not changed since it was read.',
};

export function answersOf(facts: RouteFacts, names: SchemaNames): JsonObject {
  const answers: JsonObject = {};
  for (const [status, schema] of Object.entries(facts.response)) {
    const known = facts.notes?.[Number(status)] ?? statusTexts[Number(status)];
    const description = describedBy(schema) ?? known ?? 'An answer.';
    const types =
      status === '200' ? (facts.produces ?? ['application/json']) : ['application/json'];
    const content =
      schema === null
        ? {}
        : { content: Object.fromEntries(types.map((type) => [type, contentOf(schema, names)])) };
    answers[status] = { description, headers: headersOf(facts, Number(status)), ...content };
  }
  return facts.hasOwnErrors === true ? answers : { ...answers, ...problemsOf(facts, names) };
}

function describedBy(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null || !('description' in schema)) return undefined;
  return String(schema.description);
}

function contentOf(schema: unknown, names: SchemaNames): JsonObject {
  return { schema: names.referring(schema) };
}

const shared = (name: string): JsonObject => ({ $ref: `#/components/headers/${name}` });
const everywhere = { 'X-Request-Id': shared('RequestId') };
/** Where the house's own rules have let the request in, or have refused it. */
const commonHeaders = {
  ...everywhere,
  RateLimit: shared('RateLimit'),
  'RateLimit-Policy': shared('RateLimitPolicy'),
};
const told: Readonly<Record<AnswerHeader, JsonObject>> = {
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

/** With each answer of what will be withdrawn, refusals too. */
const withdrawn = ({ deprecated }: RouteFacts): JsonObject =>
  deprecated === undefined
    ? {}
    : { Deprecation: shared('Deprecation'), Sunset: shared('Sunset'), Link: shared('Successor') };

function headersOf(facts: RouteFacts, status: number): JsonObject {
  const own = answerHeadersOf(facts, status).map((name) => [name, told[name]]);
  return {
    ...(facts.hasOwnErrors === true ? everywhere : commonHeaders),
    ...withdrawn(facts),
    ...Object.fromEntries(own),
  };
}

/** Any refusal that can pass may say when. */
const passes = (codes: readonly ErrorCode[]): boolean =>
  codes.some((code) => errorCodes[code].retryable);

function problemsOf(facts: RouteFacts, names: SchemaNames): JsonObject {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codesOf(facts)) {
    const { status } = errorCodes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const answers: JsonObject = {};
  for (const [status, own] of byStatus) {
    answers[status] = names.sharing(`Problem-${status}`, {
      description: own.map((code) => `\`${code}\`: ${errorCodes[code].title}.`).join('\n\n'),
      headers: {
        ...commonHeaders,
        ...withdrawn(facts),
        ...problemHeaders[status],
        ...(passes(own) ? { 'Retry-After': told['Retry-After'] } : {}),
      },
      content: { [problemMediaType]: { schema: problemSchema(own) } },
    });
  }
  return answers;
}

function problemSchema(codes: readonly ErrorCode[]): JsonObject {
  return {
    allOf: [
      { $ref: '#/components/schemas/Problem' },
      { type: 'object', properties: { code: { enum: codes } } },
    ],
  };
}
