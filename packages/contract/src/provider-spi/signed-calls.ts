/**
 * How calls of the provider SPI are signed: Standard Webhooks 1.0, over the body. This module only
 * builds the texts; the caller provides the cryptography.
 */

/**
 * The headers of a signed call.
 *
 * @example
 * const id = request.headers[providerCallHeaders.id];
 */
export const providerCallHeaders = {
  id: 'webhook-id',
  timestamp: 'webhook-timestamp',
  signature: 'webhook-signature',
} as const;

/**
 * How far the clocks of both sides may differ, in seconds. An older call counts as replayed.
 *
 * @example
 * const isFresh = Math.abs(nowSeconds - timestamp) <= providerClockToleranceSeconds;
 */
export const providerClockToleranceSeconds = 300;

/**
 * The time limit for a provider's answer, in milliseconds. After it the outcome is unknown.
 *
 * @example
 * server.requestTimeout = providerAnswerMs;
 */
export const providerAnswerMs = 10_000;

/**
 * The size limit of an answer in bytes.
 *
 * @example
 * const fits = Buffer.byteLength(body) <= providerAnswerMaxBytes;
 */
export const providerAnswerMaxBytes = 65_536;

/**
 * The signed text of a call without a body, so that the signature covers its address.
 *
 * @param path - the path below the address of the provider, as in the request line
 * @example
 * providerCallText('GET', '/health'); // {"method":"GET","path":"/health"}
 */
export function providerCallText(method: 'GET', path: string): string {
  return JSON.stringify({ method, path });
}

/**
 * The addresses of the SPI, below the address that the service declares.
 *
 * @example
 * providerPaths.payment(platformTransactionId); // /qr-payments/0198c0de-…
 */
export const providerPaths = {
  payments: '/qr-payments',
  payment: (platformTransactionId: string) => `/qr-payments/${platformTransactionId}`,
  cancel: (platformTransactionId: string) => `/qr-payments/${platformTransactionId}/cancel`,
  refunds: (platformTransactionId: string) => `/qr-payments/${platformTransactionId}/refunds`,
  refund: (platformTransactionId: string, refundId: string) =>
    `/qr-payments/${platformTransactionId}/refunds/${refundId}`,
  health: '/health',
} as const;
