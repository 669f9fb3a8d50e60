/** The contract between Switchyard and its clients: codes, permissions and schemas. */
export * from './acquirer-spi/messages.ts';
export * from './acquirer-spi/signatures.ts';
export * from './address-verification.ts';
export * from './audit-chain.ts';
export * from './audit-verifier.ts';
export * from './connector/index.ts';
export * from './defined.ts';
export * from './errors.ts';
export * from './events/index.ts';
export * from './permissions.ts';
export * from './problem-body.ts';
export * from './problem-error.ts';
export * from './provider-spi/display.ts';
export * from './provider-spi/events.ts';
export * from './provider-spi/messages.ts';
export * from './provider-spi/service-messages.ts';
export * from './provider-spi/signing.ts';
export {
  isProviderId,
  ProviderAmount,
  ProviderFailure,
  ProviderPayer,
  ProviderPaymentStatus,
  ProviderRefundStatus,
  providerIdMaxChars,
  QrDisplay,
  qrDisplayMaxChars,
} from './provider-spi/values.ts';
export * from './response-codes.ts';
export * from './schemas/acquirer-contracts.ts';
export * from './schemas/applications.ts';
export * from './schemas/audit.ts';
export * from './schemas/bulk.ts';
export * from './schemas/configuration.ts';
export * from './schemas/connected-devices.ts';
export * from './schemas/countries.ts';
export * from './schemas/device-certificates.ts';
export * from './schemas/device-configuration.ts';
export * from './schemas/health.ts';
export * from './schemas/onboarding.ts';
export * from './schemas/payments.ts';
export * from './schemas/points-of-sale.ts';
export * from './schemas/portal.ts';
export * from './schemas/problem.ts';
export * from './schemas/provisioning.ts';
export * from './schemas/provisioning-search.ts';
export * from './schemas/qr.ts';
export * from './schemas/qr-resolve.ts';
export * from './schemas/reference.ts';
export * from './schemas/reporting.ts';
export * from './schemas/reporting-exports.ts';
export * from './schemas/reporting-reconciliations.ts';
export * from './schemas/reporting-settlements.ts';
export * from './schemas/reporting-summary.ts';
export * from './schemas/request-log.ts';
export * from './schemas/retail.ts';
export * from './schemas/service-uses.ts';
export * from './schemas/services.ts';
export * from './schemas/subscriptions.ts';
export * from './schemas/terminal-claims.ts';
export * from './schemas/user-sessions.ts';
export * from './schemas/users.ts';
export * from './schemas/values.ts';
export * from './schemas/webhooks.ts';
