// RSA keys of realms, made once for a whole run: tests use hundreds, and each takes 0.1 s of CPU
// time.
import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { GeneratePrivateKey } from '../../../src/identity/realms-and-keys/signing-keys.ts';

const generate = promisify(generateKeyPair);
/** Consecutive realms have different keys; a test uses three or four realms. */
const keysMax = 16;
const rsaModulusBits = 2048;

/**
 * Passes the file to the test processes; a single file that Node runs directly makes its own keys.
 */
export const realmKeysVariable = 'TEST_REALM_KEYS';

async function makeRsaKey(): Promise<KeyObject> {
  return (await generate('rsa', { modulusLength: rsaModulusBits })).privateKey;
}

/** Makes the keys of a run. */
export async function writeRealmKeys(file: string): Promise<void> {
  const keys = await Promise.all(Array.from({ length: keysMax }, makeRsaKey));
  const texts = keys.map((key) => key.export({ type: 'pkcs8', format: 'pem' }));
  await writeFile(file, JSON.stringify(texts), { mode: 0o600 });
}

function keysOfRun(): readonly KeyObject[] {
  const file = process.env[realmKeysVariable];
  if (file === undefined) return [];
  return (JSON.parse(readFileSync(file, 'utf8')) as string[]).map((text) => createPrivateKey(text));
}

let pool: (KeyObject | Promise<KeyObject>)[] | undefined;
let keysTaken = 0;

/** Returns the keys in the order of the pool, and starts again at its end. */
export const makeRealmKey: GeneratePrivateKey = async (algorithm) => {
  if (algorithm === 'ES256') return (await generate('ec', { namedCurve: 'P-256' })).privateKey;
  pool ??= [...keysOfRun()];
  const index = keysTaken % keysMax;
  keysTaken += 1;
  pool[index] ??= makeRsaKey();
  return pool[index];
};
