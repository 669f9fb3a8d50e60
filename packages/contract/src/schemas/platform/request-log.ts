/**
 * Schemas of the request log: the requests of an organisation's applications, and the responses.
 */
import { type Static, Type } from 'typebox';
import { closed, identifier } from '../values-and-problems/resource-schemas.ts';
import { pageOf, Timestamp, Uuid, wordOf } from '../values-and-problems/value-schemas.ts';

/**
 * The kinds of sources of requests: applications, or the pages of the portal.
 *
 * @example
 * requestSourceKinds.includes('Portal'); // true
 */
export const requestSourceKinds = ['Api', 'Portal'] as const;
/** One of {@link requestSourceKinds}. */
export type RequestSourceKind = (typeof requestSourceKinds)[number];

/**
 * One line of the request log. It contains no body, no query, no header, and from the path only
 * identifiers.
 *
 * @example
 * const { items } = (await response.json()) as { items: LoggedRequest[] };
 */
export const LoggedRequest = closed(
  {
    organizationId: Uuid,
    sequence: Type.Integer({
      minimum: 1,
      description: 'Counts the lines of the organisation, in the order in which they were kept.',
      examples: [42],
    }),
    at: { ...Timestamp, description: 'When it was answered.' },
    requestId: Type.String({
      description: 'The `x-request-id` of the answer.',
      examples: ['019823f0-5d2c-7a31-9a53-0c6f1f2e9b11'],
    }),
    method: Type.String({ description: 'The method.', examples: ['POST'] }),
    path: Type.String({
      description: 'The path; identifiers in it are replaced by the parameter names.',
      examples: ['/payment/v1/transactions/019823f0-5d2c-7a31-9a53-0c6f1f2e9b11/capture'],
    }),
    operationId: Type.String({ description: 'The operation.', examples: ['processTransaction'] }),
    status: Type.Integer({
      minimum: 100,
      maximum: 599,
      description: 'The HTTP status.',
      examples: [200],
    }),
    code: Type.Optional(
      Type.String({ description: 'The code of the refusal.', examples: ['field_required'] }),
    ),
    errors: Type.Optional(
      Type.Array(
        closed(
          {
            pointer: Type.String({ description: 'Where in the request.', examples: ['/amount'] }),
            code: Type.String({ description: 'The error code.', examples: ['amount_zero'] }),
          },
          'A field with an error.',
        ),
        { maxItems: 10, description: 'The first fields with an error.' },
      ),
    ),
    durationMs: Type.Integer({
      minimum: 0,
      description: 'From the arrival of the request to the end of the answer, in milliseconds.',
      examples: [12],
    }),
    clientId: Type.String({ description: 'The application that asked.', examples: ['till-7'] }),
    source: wordOf(requestSourceKinds, {
      description: 'Where it came from: an application, or the pages of the portal.',
    }),
    userId: Type.Optional(
      Type.String({ description: 'The user for whom the client sent the request.' }),
    ),
    actorOrganizationId: Type.Optional(
      identifier('Whose application, where an organisation above asked.'),
    ),
    merchantId: Type.Optional(identifier('The merchant that the token was bound to.')),
    storeId: Type.Optional(identifier('The store that the token was bound to.')),
    deviceId: Type.Optional(identifier('The logical device that the token was given to.')),
  },
  'A request.',
);
/** The type of {@link LoggedRequest}. */
export type LoggedRequest = Static<typeof LoggedRequest>;

/**
 * One page of the request log.
 *
 * @example
 * const { items, nextCursor } = (await response.json()) as Static<typeof LoggedRequestPage>;
 */
export const LoggedRequestList = pageOf(LoggedRequest);

const word = (description: string, examples: readonly string[]) =>
  Type.Optional(Type.String({ maxLength: 256, pattern: '^[!-~]+$', description, examples }));

/**
 * The filters of the request log; spread them into the query of the list.
 *
 * @example
 * const query = Type.Object({ ...requestLogFilters });
 */
export const requestLogFilters = {
  status: Type.Optional(
    Type.String({
      pattern: '^[1-5](?:[0-9]{2}|xx)$',
      description: 'A status, or a class of them such as `4xx`.',
      examples: ['4xx'],
    }),
  ),
  method: Type.Optional(
    wordOf(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'], { description: 'The method.' }),
  ),
  path: word('A prefix of the path.', ['/payment/']),
  operationId: word('The operation.', ['processTransaction']),
  code: word('The code of the refusal.', ['field_required']),
  clientId: word('The application that asked.', ['till-7']),
  source: Type.Optional(
    wordOf(requestSourceKinds, { description: 'Where the request came from.' }),
  ),
  requestId: word('The request, by the `x-request-id` of its answer.', []),
  merchantId: Type.Optional(identifier('The merchant that the token was bound to.')),
  from: Type.Optional({ ...Timestamp, description: 'Lines of this time and later.' }),
  to: Type.Optional({ ...Timestamp, description: 'Lines before this time.' }),
  order: Type.Optional(
    wordOf(['NewestFirst', 'OldestFirst'], {
      default: 'NewestFirst',
      description: 'Which end the list begins at.',
    }),
  ),
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 999_999_999_999_999,
      description:
        'Lines behind the one with this sequence. A stream begins there; without it, with what comes next.',
    }),
  ),
};
