// The keys that calls to providers are signed with: sealed in the database, shown once.
import {
  type Clock,
  deriveKey,
  type Ids,
  openSealed,
  seal,
  webhookSecret,
} from '../platform/index.ts';
import type { SecretRow } from './service-store.ts';

const keyBytes = 32;
/** How long calls carry the signature of the old key too. */
export const overlapMs = 86_400_000;

const placeOf = (serviceId: string) => `catalogue service ${serviceId}`;

export type SigningSecrets = {
  make(serviceId: string): { sealed: Buffer; secret: string };
  /** The key, and the one before it as long as that signs too. */
  open(serviceId: string, row: SecretRow): Buffer[];
};

/** @example const secrets = createSigningSecrets({ masterKey, ids, clock }); */
export function createSigningSecrets(deps: {
  masterKey: Buffer;
  ids: Pick<Ids, 'secret'>;
  clock: Clock;
}): SigningSecrets {
  const sealingKey = deriveKey(deps.masterKey, 'catalogue signing keys');
  return {
    make(serviceId) {
      const key = Buffer.from(deps.ids.secret(keyBytes), 'base64url');
      return { sealed: seal(sealingKey, key, placeOf(serviceId)), secret: webhookSecret(key) };
    },
    open(serviceId, row) {
      const isOverlap =
        row.previous_sealed !== null &&
        row.previous_until !== null &&
        row.previous_until.getTime() > deps.clock.now();
      const sealed = [row.secret_sealed, ...(isOverlap ? [row.previous_sealed] : [])];
      return sealed
        .filter((each) => each !== null)
        .map((each) => openSealed(sealingKey, each, placeOf(serviceId)));
    },
  };
}
