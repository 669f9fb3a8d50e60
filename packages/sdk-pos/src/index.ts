/**
 * SDK for points of sale: terminal sessions through the cloud or the local network, and services.
 */

export {
  decimalText,
  minorUnitsOf,
  readAdditionalResponse,
  serviceIdKeptMs,
} from '@switchyard/nexo';
export type { Chance, Clock } from './clock.ts';
export { systemClock } from './clock.ts';
export { PosError, type PosErrorFacts, type PosErrorKind } from './errors.ts';
export type { PosTls } from './http.ts';
export * from './payments.ts';
export * from './pos-client.ts';
export * from './service-store.ts';
export type { ClaimOptions, Session, SessionEvents } from './session.ts';
export * from './terminal.ts';
export * from './terminal-types.ts';
export type { AccessToken, PosCredentials } from './tokens.ts';
