// The door of http: what the composition and the rooms may use.

export { acceptedHeaders, repeatAccepted, respondAccepted } from './accepted-response.ts';
export type { FindOrganization } from './acting.ts';
export type { Answered, OnAnswered } from './answered.ts';
export { type Asset, createAsset } from './assets.ts';
export type { SessionCallerOf } from './authenticate.ts';
export {
  type Caller,
  clientKeyOf,
  merchantOf,
  type Presented,
  type VerifyToken,
} from './caller.ts';
export {
  type CertificateJudge,
  type CertificateReader,
  type CertificateStanding,
  createCertificateReader,
  type GoodCertificate,
  type UnclaimedCertificate,
} from './client-certificates.ts';
export { demandVersion, entityTag, ifMatchOf, isHeld } from './entity-tags.ts';
export type { Streams, Waited } from './event-stream.ts';
export type { ReadPage, StreamPage, StreamTimes } from './event-stream-connection.ts';
export type { PlaceLimits } from './event-stream-places.ts';
export {
  cursorOf,
  eventStreamType,
  type StreamEvent,
  wantsEventStream,
} from './event-stream-text.ts';
export { formLimitBytes, readForms } from './form-body.ts';
export { type Html, html, pageHeaders } from './html.ts';
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
} from './idempotency.ts';
export type { ListenerTls } from './listener.ts';
export { defaultLoadLimits, type LoadLimits, type LoadShedding } from './load-shedding.ts';
export {
  type FoundPage,
  openPage,
  type Page,
  type PageRequest,
  pageQuery,
  sealPage,
} from './paging.ts';
export { refusalOf, retryAfterOf } from './problem.ts';
export { addressKey, type RatePolicies, type RatePolicy } from './rate-limits.ts';
export type { Access, Priority, RouteFacts } from './route-facts.ts';
export { type Route, type RouteRequest, route } from './routes.ts';
export {
  createHttp,
  type Http,
  type HttpDeps,
  type HttpSettings,
  type RegisteredRoute,
} from './server.ts';
export { instantOf, isInstant, type Span, spanOf } from './spans.ts';
export { parseStrictJson } from './strict-json.ts';
export type { Admitted, Handshake, UpgradeRoute, Upgrades } from './upgrades.ts';
export { createValidation } from './validation.ts';
