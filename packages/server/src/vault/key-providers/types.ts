// What the vault asks of whoever holds the key above its keys: to wrap them, and to unwrap them again.

/** Where a key belongs; wrapped for one place it is of no use in another. */
export type KeyPlace = {
  readonly organizationId: string;
  readonly keyId: string;
  readonly purpose: 'Data' | 'Index';
};

export type Wrapped = {
  readonly bytes: Buffer;
  /** Names the provider and its key: `local:…`, `aws-kms:arn:…`. */
  readonly wrappedBy: string;
};

export type KeyProvider = {
  /** What wraps new keys. */
  readonly wrapsWith: string;
  knows(wrappedBy: string): boolean;
  wrap(key: Buffer, place: KeyPlace): Promise<Wrapped>;
  /** The key in bytes that the caller zeroes. */
  unwrap(wrapped: Wrapped, place: KeyPlace): Promise<Buffer>;
  close(): Promise<void>;
};

/**
 * `Unavailable` may be tried again; `Refused` may not: the key above is gone or forbidden, or the
 * wrapped key was changed or moved.
 */
export class KeyProviderFault extends Error {
  override name = 'KeyProviderFault';
  readonly code: 'Unavailable' | 'Refused';

  constructor(code: 'Unavailable' | 'Refused', message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The place in one line: the additional data of every seal over a key. */
export function placeText({ organizationId, keyId, purpose }: KeyPlace): string {
  return `vault-key|${purpose}|${organizationId}|${keyId}`;
}
