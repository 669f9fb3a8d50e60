// RSA keys of realms, made once for a whole run: each takes a core a tenth of a second, and tests make hundreds.
import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { GeneratePrivateKey } from '../../../src/identity/realms-and-keys/signing-keys.ts';

const generate = promisify(generateKeyPair);
/** Realms that are made one after the other have keys of their own: a test knows three or four of them. */
const keysMost = 16;
const rsaModulusBits = 2048;

/** Names the file to the test processes; a run of one file by node itself makes its own keys. */
export const realmKeysVariable = 'TEST_REALM_KEYS';

async function makeRsaKey(): Promise<KeyObject> {
  return (await generate('rsa', { modulusLength: rsaModulusBits })).privateKey;
}

/** Makes the keys of a run. */
export async function writeRealmKeys(file: string): Promise<void> {
  const keys = await Promise.all(Array.from({ length: keysMost }, makeRsaKey));
  const texts = keys.map((key) => key.export({ type: 'pkcs8', format: 'pem' }));
  await writeFile(file, JSON.stringify(texts), { mode: 0o600 });
}

function keysOfRun(): readonly KeyObject[] {
  const file = process.env[realmKeysVariable];
  if (file === undefined) return [];
  return (JSON.parse(readFileSync(file, 'utf8')) as string[]).map((text) => createPrivateKey(text));
}

let pool: (KeyObject | Promise<KeyObject>)[] | undefined;
let taken = 0;

/** In the order of the pool, and again from its begin. */
export const makeRealmKey: GeneratePrivateKey = async (algorithm) => {
  if (algorithm === 'ES256') return (await generate('ec', { namedCurve: 'P-256' })).privateKey;
  pool ??= [...keysOfRun()];
  const at = taken % keysMost;
  taken += 1;
  pool[at] ??= makeRsaKey();
  return pool[at];
};
