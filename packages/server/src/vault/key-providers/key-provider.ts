// Defines the key provider, which wraps and unwraps the keys of the vault.

/** The owner and purpose of a key; a key that is wrapped for one does not unwrap for another. */
export type KeyIdentity = {
  readonly organizationId: string;
  readonly keyId: string;
  readonly purpose: 'Data' | 'Index';
};

export type WrappedKey = {
  readonly bytes: Buffer;
  /** The name of the provider and its key: `local:…`, `aws-kms:arn:…`. */
  readonly wrappedBy: string;
};

export type KeyProvider = {
  /** The provider and key that wrap new keys. */
  readonly wrappingKeyName: string;
  canUnwrap(wrappedBy: string): boolean;
  wrap(key: Buffer, identity: KeyIdentity): Promise<WrappedKey>;
  /** Returns the clear key; the caller zeroes it. */
  unwrap(wrapped: WrappedKey, identity: KeyIdentity): Promise<Buffer>;
  close(): Promise<void>;
};

/**
 * `Unavailable` may be retried, `Refused` may not. `Refused`: the provider's key is gone or
 * forbidden, or the wrapped key was changed or moved.
 */
export class KeyProviderError extends Error {
  override name = 'KeyProviderError';
  readonly code: 'Unavailable' | 'Refused';

  constructor(code: 'Unavailable' | 'Refused', message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The owner and purpose as text: the additional authenticated data of each wrapped key. */
export function keyAdditionalData({ organizationId, keyId, purpose }: KeyIdentity): string {
  return `vault-key|${purpose}|${organizationId}|${keyId}`;
}
