// Makes the key of the settings in its PKCS#11 module, where the optional package is installed.
import { makePkcs11Key } from '../../packages/pkcs11/src/index.ts';
import { readSettings } from '../../packages/server/src/platform/index.ts';

/** It never leaves the module: nobody sees it, and nobody can copy it but the module's own backup. */
export function createPkcs11Key(): void {
  const settings = readSettings(process.env);
  const { vaultPkcs11Module: module, vaultPkcs11Token: token } = settings;
  const { vaultPkcs11Key: key, vaultPkcs11Pin: pin } = settings;
  if (module === undefined || token === undefined || key === undefined || pin === undefined) {
    throw new Error('SWITCHYARD_VAULT_KEY_PROVIDER must be pkcs11, and its settings set');
  }
  makePkcs11Key({ module, token, key, pin });
  process.stdout.write(`the key ${key} was made in the token ${token}\n`);
}
