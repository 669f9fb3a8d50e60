// Encrypts the secret values of a row, and binds the ciphertext to that row.
import { decryptBytes, deriveKey, encryptBytes } from '../../platform/index.ts';
import type { SecretsByPointer } from './types.ts';

/** The row that the secrets belong to. */
export type SecretOwner = {
  readonly organizationId: string;
  readonly entityId: string;
  readonly serviceId: string;
};

export type SecretCipher = {
  encrypt(owner: SecretOwner, secrets: SecretsByPointer): Buffer | undefined;
  decrypt(owner: SecretOwner, ciphertext: Buffer | undefined): SecretsByPointer;
};

/** @example const secretCipher = createSecretCipher(masterKey, 'configuration'); secretCipher.encrypt(row, secrets); */
export function createSecretCipher(
  masterKey: Buffer,
  purpose: 'configuration' | 'activation',
): SecretCipher {
  const key = deriveKey(masterKey, `${purpose} secrets`);
  const additionalData = (owner: SecretOwner) =>
    `${purpose} ${owner.organizationId} ${owner.entityId} ${owner.serviceId}`;
  return {
    encrypt(owner, secrets) {
      if (Object.keys(secrets).length === 0) return undefined;
      return encryptBytes(key, Buffer.from(JSON.stringify(secrets)), additionalData(owner));
    },
    decrypt(owner, ciphertext) {
      if (ciphertext === undefined) return {};
      return JSON.parse(
        decryptBytes(key, ciphertext, additionalData(owner)).toString(),
      ) as SecretsByPointer;
    },
  };
}
