// The operations of the platform at an acquirer host.

/**
 * The operations that a host table can describe.
 *
 * @example
 * ```ts
 * operationNames.includes('void'); // true
 * ```
 */
export const operationNames = [
  'authorization',
  'accountVerification',
  'motoAuthorization',
  'sale',
  'cashback',
  'motoSale',
  'offlineSale',
  'capture',
  'refund',
  'void',
  'reversal',
] as const;

/** One of {@link operationNames}. */
export type OperationName = (typeof operationNames)[number];
