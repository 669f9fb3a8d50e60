/**
 * SDK for providers of QR payments: verifies and answers the platform's calls, and sends events.
 */
export type {
  CancelAnswer,
  CancelQrPayment,
  CancelReason,
  CreateQrPayment,
  HealthAnswer,
  ProviderAmount,
  ProviderEvent,
  ProviderEventType,
  ProviderFailure,
  ProviderMerchant,
  ProviderPayer,
  ProviderPaymentStatus,
  ProviderProblem,
  ProviderRefundStatus,
  QrDisplay,
  QrPaymentAnswer,
  RefundAnswer,
  RefundQrPayment,
} from '@switchyard/contract';
export {
  displayFault,
  providerAnswerMaxBytes,
  providerAnswerMs,
  providerCallHeaders,
  providerCallText,
  providerClockToleranceSeconds,
  providerEventStatuses,
  providerPaths,
} from '@switchyard/contract';
export {
  createProviderCallHandler,
  type ProviderCall,
  type ProviderCallHandlerOptions,
  type ProviderResponse,
} from './call-handler.ts';
export * from './call-signatures.ts';
export type { Clock } from './clock.ts';
export * from './event-queue.ts';
export * from './event-stores.ts';
export * from './events-client.ts';
export * from './fastify-plugin.ts';
export * from './http-handler.ts';
export { type ProviderProblemDetails, ProviderProblemError } from './provider-problem-error.ts';
export * from './qr-provider.ts';
