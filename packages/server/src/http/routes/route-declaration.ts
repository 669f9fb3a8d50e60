// The declaration of a route: its request, its responses, its errors and its permission.
import type { ErrorCode, Outcome } from '@switchyard/contract';
import type { TSchema } from 'typebox';
import type { Access } from '../authentication/authenticate.ts';
import type { Deprecation } from './deprecation.ts';

/** Under overload, the server rejects `report` first and `last` last. */
export type Priority = 'report' | 'list' | 'sale' | 'last';

/** Response headers that clients use, as the OpenAPI document spells them. */
export const responseHeaders = [
  ...(['Content-Disposition', 'Content-Range', 'ETag'] as const),
  ...(['Idempotent-Replayed', 'Location', 'Retry-After'] as const),
] as const;
export type ResponseHeader = (typeof responseHeaders)[number];

export type RouteDeclaration = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Fastify's spelling: `/payment/v1/transactions/:transactionId`. */
  readonly url: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly permission: Access;
  /** With 'certificate': also accepts an unknown certificate and one of an unclaimed terminal. */
  readonly acceptsUnclaimedTerminal?: true;
  readonly body?: TSchema;
  /** A missing body then counts as `{}`. */
  readonly bodyOptional?: boolean;
  /** Left out: an object without members. */
  readonly query?: TSchema;
  readonly params?: TSchema;
  /** Request headers with their descriptions; for the OpenAPI document only. */
  readonly headers?: Readonly<Record<string, string>>;
  /** By status, response headers besides the common ones (response-headers.ts); for the OpenAPI document. */
  readonly responseHeaders?: Readonly<Record<number, readonly ResponseHeader[]>>;
  /** By status; null when the response has no body. */
  readonly response: { readonly [status: number]: TSchema | null };
  /** Besides the common errors (operation-responses.ts). */
  readonly errors: readonly ErrorCode[];
  /** Left out: 'sale'. */
  readonly priority?: Priority;
  /** The policy of rate-limits.ts; left out: 'default', for public routes 'public'. */
  readonly rateLimit?: string;
  /** Media types of the body besides JSON; the Fastify scope of the route must parse them. */
  readonly consumes?: readonly string[];
  /** Media types of a body that the handler reads as a stream. */
  readonly streamedMediaTypes?: readonly string[];
  /** Media types of a 200 that is not JSON. */
  readonly produces?: readonly string[];
  /** The outcome of an unexpected error in the handler; left out: 'Unknown', for GET 'NotProcessed'. */
  readonly faultOutcome?: Outcome;
  /** Requires the token of a device. */
  readonly requiresDeviceToken?: boolean;
  /** A page of the portal links to it, so that the browser downloads the response. */
  readonly opensByLink?: boolean;
  /** Accepts the header Idempotency-Key; the handler returns the response body. */
  readonly takesIdempotencyKey?: boolean;
  readonly bodyLimitBytes?: number;
  /** Accepts an HTML form instead of JSON; its Fastify scope has the parser of form-body.ts. */
  readonly readsForm?: boolean;
  /** Example bodies by title; left out, an example is built from the schema. */
  readonly examples?: Readonly<Record<string, unknown>>;
  /** `response` declares its errors, which are not problem+json. */
  readonly hasOwnErrors?: boolean;
  /** The operation has a successor and will be removed. */
  readonly deprecated?: Deprecation;
  /** Only the listener for devices serves it; for the OpenAPI document. */
  readonly isOnDeviceListener?: boolean;
  /** By status, the description of a response without a JSON body; for the OpenAPI document. */
  readonly statusDescriptions?: Readonly<Record<number, string>>;
  /** Regular expressions of path parameters, where the path of another route has the same form. */
  readonly pathForms?: Readonly<Record<string, string>>;
  /** Left out of the document: HTML pages, and the second address of an operation. */
  readonly isHidden?: boolean;
};
