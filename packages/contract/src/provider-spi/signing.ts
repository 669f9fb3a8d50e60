/**
 * How calls of the provider SPI are signed: after Standard Webhooks 1.0, over the body. Only texts
 * are put together here; whoever calls brings the cryptography.
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
 * How far the clocks of the two sides may differ, seconds: what is older was replayed.
 *
 * @example
 * const isFresh = Math.abs(nowSeconds - timestamp) <= providerClockToleranceSeconds;
 */
export const providerClockToleranceSeconds = 300;

/**
 * What a provider has to answer within, milliseconds: after that the outcome is unknown.
 *
 * @example
 * server.requestTimeout = providerAnswerMs;
 */
export const providerAnswerMs = 10_000;

/**
 * The most bytes of an answer.
 *
 * @example
 * const fits = Buffer.byteLength(body) <= providerAnswerMaxBytes;
 */
export const providerAnswerMaxBytes = 65_536;

/**
 * What is signed in place of the body of a call that has none, so that its address is signed too.
 *
 * @param path - below the address of the provider, as it stands in the request line
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
