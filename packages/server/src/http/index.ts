// The door of http: what the composition and the rooms may use.

export type { Access, SessionCallerOf } from './authentication/authenticate.ts';
export {
  type Caller,
  clientKeyOf,
  merchantOf,
  type Presented,
  type VerifyToken,
} from './authentication/caller.ts';
export {
  type CertificateJudge,
  type CertificateReader,
  type CertificateStanding,
  createCertificateReader,
  type GoodCertificate,
  type UnclaimedCertificate,
} from './authentication/client-certificates.ts';
export type { PlaceLimits } from './event-streams/connection-limits.ts';
export {
  cursorOf,
  eventStreamType,
  type StreamEvent,
  wantsEventStream,
} from './event-streams/event-format.ts';
export type { Streams, Waited } from './event-streams/event-streams.ts';
export type { ReadPage, StreamPage, StreamTimes } from './event-streams/open-stream.ts';
export { defaultLoadLimits, type LoadLimits, type LoadShedding } from './limits/load-shedding.ts';
export { addressKey, type RatePolicies, type RatePolicy } from './limits/rate-limits.ts';
export { demandVersion, entityTag, ifMatchOf, isHeld } from './requests/entity-tags.ts';
export { formLimitBytes, readForms } from './requests/form-body.ts';
export {
  type FoundPage,
  openPage,
  type Page,
  type PageRequest,
  pageQuery,
  sealPage,
} from './requests/pagination.ts';
export { createValidation } from './requests/schema-validation.ts';
export { parseStrictJson } from './requests/strict-json.ts';
export { instantOf, isInstant, type Span, spanOf } from './requests/time-range.ts';
export { acceptedHeaders, repeatAccepted, respondAccepted } from './responses/accepted-response.ts';
export { type Html, html, pageHeaders } from './responses/html.ts';
export { refusalOf, retryAfterOf } from './responses/problem-responses.ts';
export { type Asset, createAsset } from './responses/static-assets.ts';
export type { FindOrganization } from './routes/act-on-behalf-of.ts';
export { type Route, type RouteRequest, route } from './routes/declare-route.ts';
export {
  type AskedKey,
  type HeldKey,
  type IdempotencyKeys,
  idempotencyKeyHeader,
  type KeptAnswer,
  operationIdempotencyHeaders,
  paymentIdempotencyHeaders,
  resolveIdentifier,
  setReplayedHeader,
  type UsedKey,
  withClientTransactionId,
} from './routes/idempotency-key.ts';
export type { Priority, RouteFacts } from './routes/route-declaration.ts';
export {
  createHttp,
  type Http,
  type HttpDeps,
  type HttpSettings,
  type RegisteredRoute,
} from './server/http-server.ts';
export type { ListenerTls } from './server/listener.ts';
export type { Answered, OnAnswered } from './server/response-log-entry.ts';
export type { Admitted, Handshake, UpgradeRoute, Upgrades } from './server/websocket-upgrades.ts';
