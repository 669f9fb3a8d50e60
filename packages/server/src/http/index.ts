// The public interface of http for the application and its modules.

export type { Access, FindSessionCaller } from './authentication/authenticate.ts';
export {
  type Caller,
  clientKeyOf,
  merchantOf,
  type PresentedCertificate,
  type VerifyToken,
} from './authentication/caller.ts';
export {
  type CertificateReader,
  type CertificateStatus,
  type CertificateVerifier,
  createCertificateReader,
  type UnclaimedCertificate,
  type ValidCertificate,
} from './authentication/client-certificates.ts';
export type { ConnectionLimits } from './event-streams/connection-limits.ts';
export {
  eventStreamType,
  readStreamCursor,
  type StreamEvent,
  wantsEventStream,
} from './event-streams/event-format.ts';
export type { EventStreams, StreamSource } from './event-streams/event-streams.ts';
export type { ReadPage, StreamPage, StreamTimings } from './event-streams/open-stream.ts';
export { defaultLoadLimits, type LoadLimits, type LoadShedding } from './limits/load-shedding.ts';
export type { RatePolicies, RatePolicy } from './limits/rate-limits.ts';
export { isFirstDocumentationBuild } from './openapi/documentation-site.ts';
export {
  entityTag,
  matchesIfNoneMatch,
  readIfMatch,
  requireVersion,
} from './requests/entity-tags.ts';
export { acceptFormBodies, formLimitBytes } from './requests/form-body.ts';
export {
  type FoundPage,
  type Page,
  type PageRequest,
  pageQuery,
  pageResponse,
  readPage,
  readPageRequest,
} from './requests/pagination.ts';
export { createSchemaValidation } from './requests/schema-validation.ts';
export { parseStrictJson } from './requests/strict-json.ts';
export {
  isTimestamp,
  parseTimeRange,
  parseTimestamp,
  type TimeRange,
} from './requests/time-range.ts';
export {
  acceptedHeaders,
  respondAccepted,
  respondAcceptedAgain,
} from './responses/accepted-response.ts';
export {
  type BuiltFolder,
  cacheForever,
  cacheOneHour,
  createBuiltFolder,
  isBuilding,
} from './responses/built-folder.ts';
export { type Html, html, pageHeaders } from './responses/html.ts';
export { retryAfterHeader, toProblemError } from './responses/problem-responses.ts';
export { createStaticAsset, type StaticAsset } from './responses/static-assets.ts';
export type { FindOrganization } from './routes/act-on-behalf-of.ts';
export { type Route, type RouteRequest, route } from './routes/declare-route.ts';
export {
  type ClaimedKey,
  type ExistingKey,
  type IdempotencyKeyRequest,
  type IdempotencyKeys,
  idempotencyKeyHeader,
  operationIdempotencyHeaders,
  paymentIdempotencyHeaders,
  resolveClientIdentifier,
  resolveClientTransactionId,
  type StoredResponse,
  setReplayedHeader,
} from './routes/idempotency-key.ts';
export {
  type AuthenticatedRequest,
  registerResourceRoutes,
  sendWithETag,
  type Versioned,
} from './routes/resource-routes.ts';
export type { Priority, RouteDeclaration } from './routes/route-declaration.ts';
export {
  createHttp,
  type Http,
  type HttpDeps,
  type HttpSettings,
  type RegisteredRoute,
} from './server/http-server.ts';
export type { ListenerTls } from './server/listener.ts';
export { traceparentOf } from './server/request-tracing.ts';
export type { OnResponse, ResponseLogEntry } from './server/response-log-entry.ts';
export type {
  AcceptedUpgrade,
  Handshake,
  WebSocketRoute,
  WebSocketUpgrades,
} from './server/websocket-upgrades.ts';
