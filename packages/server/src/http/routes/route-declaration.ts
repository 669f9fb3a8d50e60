// The facts of a declared route: what its request and its answers may hold, and who may call it.
import type { ErrorCode, Outcome } from '@switchyard/contract';
import type { TSchema } from 'typebox';
import type { Access } from '../authentication/authenticate.ts';
import type { Deprecation } from './deprecation.ts';

/** In the order in which overload turns requests away. */
export type Priority = 'report' | 'list' | 'sale' | 'last';

/** Headers that clients act upon, in the spelling of the document. */
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
  /** With 'certificate': also one that the platform does not know yet, and one of an unclaimed terminal. */
  readonly acceptsUnclaimedTerminal?: true;
  readonly body?: TSchema;
  /** No body at all then counts as `{}`. */
  readonly bodyOptional?: boolean;
  /** Left out: an object without members. */
  readonly query?: TSchema;
  readonly params?: TSchema;
  /** Request headers that it reads, with what they mean; for the document alone. */
  readonly headers?: Readonly<Record<string, string>>;
  /** By status, headers of its answers besides those of their kind (answer-headers.ts); for the document. */
  readonly responseHeaders?: Readonly<Record<number, readonly ResponseHeader[]>>;
  /** By status; null where the answer has no body. */
  readonly response: { readonly [status: number]: TSchema | null };
  /** Besides those that every route of its kind can give. */
  readonly errors: readonly ErrorCode[];
  /** Left out: 'sale'. */
  readonly priority?: Priority;
  /** Which policy of rate-limits.ts counts it; left out: 'default', of public routes 'public'. */
  readonly rateLimit?: string;
  /** Media types of a body that may come in place of JSON; the route's scope has to read them. */
  readonly consumes?: readonly string[];
  /** Media types of a body that the handler reads as it comes; the route's scope hands the stream on. */
  readonly streamedMediaTypes?: readonly string[];
  /** Media types of a 200 that is not JSON. */
  readonly produces?: readonly string[];
  /** What a fault of ours says in the handler; left out: 'Unknown', of GET 'NotProcessed'. */
  readonly faultOutcome?: Outcome;
  /** Only the token of a device is good for it. */
  readonly requiresDeviceToken?: boolean;
  /** A page of the portal leads there by a plain link, for the browser to keep what comes. */
  readonly opensByLink?: boolean;
  /** Sent again under its Idempotency-Key, it is answered as the first time; the handler returns the answer. */
  readonly takesIdempotencyKey?: boolean;
  readonly bodyLimitBytes?: number;
  /** Reads a page's form instead of JSON; its scope has the parser of form-body.ts. */
  readonly readsForm?: boolean;
  /** Bodies to show in the document, by what they are; left out, one is put together. */
  readonly examples?: Readonly<Record<string, unknown>>;
  /** Its refusals stand in `response`, in a form that is not ours. */
  readonly hasOwnErrors?: boolean;
  /** It has a successor, and will be withdrawn. */
  readonly deprecated?: Deprecation;
  /** Served by the listener for devices alone; for the document. */
  readonly isOnDeviceListener?: boolean;
  /** What an answer without a body in JSON is, by status; for the document. */
  readonly statusDescriptions?: Readonly<Record<number, string>>;
  /** Not an operation of the API: pages for people. */
  readonly isHidden?: boolean;
};
