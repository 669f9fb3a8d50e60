/** The contract between Switchyard and its clients: codes, permissions and schemas. */
export * from './acquirer-spi/messages.ts';
export * from './acquirer-spi/signatures.ts';
export * from './address-verification.ts';
export * from './audit-chain.ts';
export * from './audit-verifier.ts';
export * from './card-check-digit.ts';
export * from './connector/connector-faults.ts';
export * from './connector/control-messages.ts';
export * from './connector/limits.ts';
export * from './connector/paths.ts';
export * from './connector/websocket-close-codes.ts';
export * from './data-directory.ts';
export * from './defined.ts';
export * from './detached-jws.ts';
export * from './error-advice.ts';
export * from './errors.ts';
export * from './events/index.ts';
export * from './json-objects.ts';
export * from './permissions.ts';
export * from './problem-error.ts';
export * from './provider-spi/activation-messages.ts';
export * from './provider-spi/check-qr-display.ts';
export * from './provider-spi/events-from-provider.ts';
export * from './provider-spi/messages.ts';
export * from './provider-spi/signed-calls.ts';
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
} from './provider-spi/value-schemas.ts';
export * from './read-problem-body.ts';
export * from './response-codes.ts';
export * from './schemas/accounts/applications.ts';
export * from './schemas/accounts/sign-up.ts';
export * from './schemas/accounts/users.ts';
export * from './schemas/accounts/users.ts';
export * from './schemas/acquiring/acquirer-contracts.ts';
export * from './schemas/devices/connected-devices.ts';
export * from './schemas/devices/device-certificates.ts';
export * from './schemas/devices/device-configuration.ts';
export * from './schemas/devices/retail-messages.ts';
export * from './schemas/devices/terminal-ownership-claims.ts';
/** Card payments: the schemas of requests and responses, and their enumerations. */
export * from './schemas/payments/index.ts';
export * from './schemas/platform/audit.ts';
export * from './schemas/platform/health.ts';
export * from './schemas/platform/portal.ts';
export * from './schemas/platform/portal-terminal.ts';
export * from './schemas/platform/reference-data.ts';
export * from './schemas/platform/reference-data.ts';
export * from './schemas/platform/request-log.ts';
export * from './schemas/platform/webhooks.ts';
export * from './schemas/provisioning/bulk-import.ts';
export * from './schemas/provisioning/organization-tree.ts';
export * from './schemas/provisioning/points-of-sale.ts';
export * from './schemas/provisioning/search.ts';
export * from './schemas/qr/qr-payments.ts';
export * from './schemas/qr/resolve-qr-payment.ts';
export * from './schemas/reporting/exports.ts';
export * from './schemas/reporting/reconciliations.ts';
export * from './schemas/reporting/reported-payments.ts';
export * from './schemas/reporting/settlements.ts';
export * from './schemas/reporting/summary.ts';
export * from './schemas/services/packages-and-subscriptions.ts';
export * from './schemas/services/service-configuration.ts';
export * from './schemas/services/service-uses.ts';
export * from './schemas/services/services.ts';
export * from './schemas/values-and-problems/problem.ts';
export * from './schemas/values-and-problems/value-schemas.ts';
export * from './terminal-serial-number.ts';
