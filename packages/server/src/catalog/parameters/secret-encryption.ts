// Encrypts the secret values of a row, and binds the ciphertext to that row.
import { decryptBytes, deriveKey, encryptBytes } from '../../platform/index.ts';
import type { Secrets } from './types.ts';

/** The row that the secrets belong to. */
export type SecretPlace = {
  readonly organization_id: string;
  readonly entity_id: string;
  readonly service_id: string;
};

export type SecretBox = {
  close(place: SecretPlace, secrets: Secrets): Buffer | null;
  open(place: SecretPlace, sealed: Buffer | null): Secrets;
};

/** @example const box = createSecretBox(masterKey, 'configuration'); box.close(row, secrets); */
export function createSecretBox(
  masterKey: Buffer,
  purpose: 'configuration' | 'activation',
): SecretBox {
  const key = deriveKey(masterKey, `${purpose} secrets`);
  const placeText = (place: SecretPlace) =>
    `${purpose} ${place.organization_id} ${place.entity_id} ${place.service_id}`;
  return {
    close(place, secrets) {
      if (Object.keys(secrets).length === 0) return null;
      return encryptBytes(key, Buffer.from(JSON.stringify(secrets)), placeText(place));
    },
    open(place, sealed) {
      if (sealed === null) return {};
      return JSON.parse(decryptBytes(key, sealed, placeText(place)).toString()) as Secrets;
    },
  };
}
