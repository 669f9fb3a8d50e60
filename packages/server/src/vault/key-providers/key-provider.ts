// Defines the key provider, which wraps and unwraps the keys of the vault.

/** The owner and purpose of a key; a key that is wrapped for one does not unwrap for another. */
export type KeyPlace = {
  readonly organizationId: string;
  readonly keyId: string;
  readonly purpose: 'Data' | 'Index';
};

export type Wrapped = {
  readonly bytes: Buffer;
  /** The name of the provider and its key: `local:…`, `aws-kms:arn:…`. */
  readonly wrappedBy: string;
};

export type KeyProvider = {
  /** The provider and key that wrap new keys. */
  readonly wrapsWith: string;
  knows(wrappedBy: string): boolean;
  wrap(key: Buffer, place: KeyPlace): Promise<Wrapped>;
  /** Returns the clear key; the caller zeroes it. */
  unwrap(wrapped: Wrapped, place: KeyPlace): Promise<Buffer>;
  close(): Promise<void>;
};

/**
 * `Unavailable` may be retried, `Refused` may not. `Refused`: the provider's key is gone or
 * forbidden, or the wrapped key was changed or moved.
 */
export class KeyProviderFault extends Error {
  override name = 'KeyProviderFault';
  readonly code: 'Unavailable' | 'Refused';

  constructor(code: 'Unavailable' | 'Refused', message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The owner and purpose as text: the additional authenticated data of each wrapped key. */
export function placeText({ organizationId, keyId, purpose }: KeyPlace): string {
  return `vault-key|${purpose}|${organizationId}|${keyId}`;
}
