// Signing keys of a realm: made, sealed for the database, opened, chosen.
import { createPublicKey, createSecretKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { deriveKey, openSealed, seal } from '../../platform/index.ts';
import type { RealmKey, SealedKey, SigningAlgorithm } from './realm.ts';

const generate = promisify(generateKeyPair);
const algorithms: readonly SigningAlgorithm[] = ['ES256', 'RS256'];
const rsaModulusBits = 2048;

export type KeyRing = ReturnType<typeof createKeyRing>;
export type MakeKey = (algorithm: SigningAlgorithm) => Promise<KeyObject>;

/** RS256 for user flows, which older client libraries expect, ES256 for machines: eleven times cheaper. */
async function makePrivateKey(algorithm: SigningAlgorithm): Promise<KeyObject> {
  const pair =
    algorithm === 'ES256'
      ? await generate('ec', { namedCurve: 'P-256' })
      : await generate('rsa', { modulusLength: rsaModulusBits });
  return pair.privateKey;
}

/** The youngest key that has begun signs; keys come youngest first. */
export function signingKey(
  keys: readonly RealmKey[],
  algorithm: SigningAlgorithm,
  at: number,
): RealmKey | undefined {
  return keys.find((key) => key.algorithm === algorithm && key.activeFrom <= at);
}

/** @param makeKey makes the private keys; left out, each is a new one */
export function createKeyRing(masterKey: Buffer, makeKey: MakeKey = makePrivateKey) {
  const sealingKey = deriveKey(masterKey, 'realm-keys');
  // The seal binds a key to its realm: moved to another row it does not open.
  const boundTo = (organizationId: string, keyId: string) => `${organizationId}|${keyId}`;
  return {
    /** One key of each algorithm. */
    make: (organizationId: string, activeFrom: number): Promise<SealedKey[]> =>
      Promise.all(
        algorithms.map(async (algorithm) => {
          const jwk: JWK = (await makeKey(algorithm)).export({ format: 'jwk' });
          const keyId = await calculateJwkThumbprint(jwk);
          const privateSealed = seal(
            sealingKey,
            Buffer.from(JSON.stringify(jwk)),
            boundTo(organizationId, keyId),
          );
          return { keyId, algorithm, privateSealed, activeFrom };
        }),
      ),

    /** Ready for use: from its bytes each hash would cost four times as much. */
    refreshKeyOf: (organizationId: string): KeyObject =>
      createSecretKey(deriveKey(masterKey, `refresh-tokens|${organizationId}`)),

    open(organizationId: string, sealed: SealedKey): RealmKey {
      const { keyId, algorithm, activeFrom } = sealed;
      const opened = openSealed(sealingKey, sealed.privateSealed, boundTo(organizationId, keyId));
      const privateJwk = {
        ...(JSON.parse(opened.toString()) as JWK),
        kid: keyId,
        alg: algorithm,
        use: 'sig',
      };
      const publicKey = createPublicKey({ key: privateJwk, format: 'jwk' });
      return { keyId, algorithm, activeFrom, privateJwk, publicKey };
    },
  };
}
