// Generates the signing keys of a realm, encrypts them for the database, and selects the one that
// signs.
import { createPublicKey, createSecretKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { decryptBytes, deriveKey, encryptBytes } from '../../platform/index.ts';
import type { RealmKey, SealedKey, SigningAlgorithm } from './realm-types.ts';

const generateKeyPairAsync = promisify(generateKeyPair);
const algorithms: readonly SigningAlgorithm[] = ['ES256', 'RS256'];
const rsaModulusBits = 2048;

export type KeyRing = ReturnType<typeof createKeyRing>;
export type GeneratePrivateKey = (algorithm: SigningAlgorithm) => Promise<KeyObject>;

/**
 * RS256 for user flows, because older client libraries expect it; ES256 for machines, at a tenth of
 * the cost.
 */
async function createPrivateKey(algorithm: SigningAlgorithm): Promise<KeyObject> {
  const pair =
    algorithm === 'ES256'
      ? await generateKeyPairAsync('ec', { namedCurve: 'P-256' })
      : await generateKeyPairAsync('rsa', { modulusLength: rsaModulusBits });
  return pair.privateKey;
}

/** The newest active key signs; keys are sorted newest first. */
export function selectSigningKey(
  keys: readonly RealmKey[],
  algorithm: SigningAlgorithm,
  now: number,
): RealmKey | undefined {
  return keys.find((key) => key.algorithm === algorithm && key.activeFrom <= now);
}

/** @param generatePrivateKey default: a new key each time */
export function createKeyRing(
  masterKey: Buffer,
  generatePrivateKey: GeneratePrivateKey = createPrivateKey,
) {
  const sealingKey = deriveKey(masterKey, 'realm-keys');
  // The encryption binds a key to its realm: in a row of another realm it does not decrypt.
  const sealContext = (organizationId: string, keyId: string) => `${organizationId}|${keyId}`;
  return {
    /** One key of each algorithm. */
    createSealedKeys: (organizationId: string, activeFrom: number): Promise<SealedKey[]> =>
      Promise.all(
        algorithms.map(async (algorithm) => {
          const jwk: JWK = (await generatePrivateKey(algorithm)).export({ format: 'jwk' });
          const keyId = await calculateJwkThumbprint(jwk);
          const privateSealed = encryptBytes(
            sealingKey,
            Buffer.from(JSON.stringify(jwk)),
            sealContext(organizationId, keyId),
          );
          return { keyId, algorithm, privateSealed, activeFrom };
        }),
      ),

    /** As a KeyObject: an HMAC with raw bytes costs four times as much. */
    deriveRefreshKey: (organizationId: string): KeyObject =>
      createSecretKey(deriveKey(masterKey, `refresh-tokens|${organizationId}`)),

    openKey(organizationId: string, sealed: SealedKey): RealmKey {
      const { keyId, algorithm, activeFrom } = sealed;
      const privateKeyJson = decryptBytes(
        sealingKey,
        sealed.privateSealed,
        sealContext(organizationId, keyId),
      );
      const privateJwk = {
        ...(JSON.parse(privateKeyJson.toString()) as JWK),
        kid: keyId,
        alg: algorithm,
        use: 'sig',
      };
      const publicKey = createPublicKey({ key: privateJwk, format: 'jwk' });
      return { keyId, algorithm, activeFrom, privateJwk, publicKey };
    },
  };
}
