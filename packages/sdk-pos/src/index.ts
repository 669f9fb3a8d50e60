/**
 * SDK for points of sale: terminal sessions through the cloud or the local network, and services.
 */

export {
  formatDecimalAmount,
  parseDecimalAmount,
  readAdditionalResponse,
  serviceIdRetentionMs,
} from '@switchyard/nexo';
export { type Clock, type RandomSource, systemClock } from '@switchyard/sdk-core';
export * from './connector/pos-client.ts';
export type { ClaimOptions, Session, SessionHandlers } from './connector/terminal-session.ts';
export type { AccessToken, PosCredentials } from './network/access-tokens.ts';
export type { PosTls } from './network/http-post.ts';
export { PosError, type PosErrorDetails, type PosErrorKind } from './support/pos-error.ts';
export * from './terminal/payment-requests.ts';
export * from './terminal/service-store.ts';
export * from './terminal/terminal.ts';
export * from './terminal/terminal-types.ts';
