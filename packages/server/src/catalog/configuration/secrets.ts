// Seals the secret values of a level, so that only the service at a device ever sees them again.
import { deriveKey, openSealed, seal } from '../../platform/index.ts';
import type { Secrets } from './types.ts';

/** The row that they belong to. */
export type SecretPlace = {
  readonly organization_id: string;
  readonly entity_id: string;
  readonly service_id: string;
};

export type SecretBox = {
  close(place: SecretPlace, secrets: Secrets): Buffer | null;
  open(place: SecretPlace, sealed: Buffer | null): Secrets;
};

const placeText = (place: SecretPlace) =>
  `configuration ${place.organization_id} ${place.entity_id} ${place.service_id}`;

/** @example const box = createSecretBox(masterKey); */
export function createSecretBox(masterKey: Buffer): SecretBox {
  const key = deriveKey(masterKey, 'configuration secrets');
  return {
    close(place, secrets) {
      if (Object.keys(secrets).length === 0) return null;
      return seal(key, Buffer.from(JSON.stringify(secrets)), placeText(place));
    },
    open(place, sealed) {
      if (sealed === null) return {};
      return JSON.parse(openSealed(key, sealed, placeText(place)).toString()) as Secrets;
    },
  };
}
