/** For payment terminals: the cloud channel, tokens, payments, and sales without a connection. */
export type { Chance, Clock } from './clock.ts';
export { systemClock } from './clock.ts';
export type { PeerMessage } from './data-connection.ts';
export * from './device-client.ts';
export type { DeviceEvents, DeviceState, StateChange } from './device-events.ts';
export { DeviceError, type DeviceErrorFacts, type DeviceErrorKind } from './errors.ts';
export * from './local-listener.ts';
export type { LocalPeer } from './local-sockets.ts';
export type { DeviceLog } from './log.ts';
export type { OfflineLimits, OfflineRefusal } from './offline-limits.ts';
export * from './offline-queue.ts';
export * from './payment-client.ts';
export * from './properties.ts';
export * from './qr-client.ts';
export * from './till.ts';
export type { DeviceTls } from './tls.ts';
export * from './tokens.ts';
export type { ClaimedTraffic } from './traffic.ts';
