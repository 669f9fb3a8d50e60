/** SDK for payment terminals: the cloud channel, tokens, payments, and offline sales. */

export { type Clock, type RandomSource, systemClock } from '@switchyard/sdk-core';
export * from './authentication/device-tokens.ts';
export * from './authentication/terminal-claim.ts';
export type { ReceivedMessage } from './connector/data-connection.ts';
export * from './connector/device-client.ts';
export type { DeviceEvents, DeviceState, StateChange } from './connector/device-events.ts';
export * from './connector/device-properties.ts';
export type { PosActivity } from './connector/pos-activity.ts';
export * from './local-network/local-listener.ts';
export type { LocalPosConnection } from './local-network/local-websockets.ts';
export type { DeviceTls } from './network/http-client.ts';
export type { OfflineLimits, OfflineRefusalReason } from './offline-sales/offline-limits.ts';
export * from './offline-sales/offline-queue.ts';
export * from './offline-sales/sale-processor.ts';
export * from './payments/payment-client.ts';
export * from './payments/qr-client.ts';
export {
  DeviceError,
  type DeviceErrorDetails,
  type DeviceErrorKind,
} from './support/device-error.ts';
export type { DeviceLog } from './support/device-log.ts';
