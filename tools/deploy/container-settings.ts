// Reads the settings of a container in `deploy` with the rules of the server; the files that they name get test contents.
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  readSettings,
  type Setting,
  type Settings,
  settingPrefix,
  settingsTable,
  variableNames,
} from '../../packages/server/src/platform/index.ts';
import { makeCertificate } from '../../packages/server/test/support/test-certificates.ts';

export type Variables = Readonly<Record<string, string>>;

/** The names that the server accepts, with `_FILE` of the secrets. */
export const settingNames: ReadonlySet<string> = new Set(
  Object.values<Setting<unknown>>(settingsTable).flatMap(variableNames),
);

/** The settings whose value is the path of a file. */
export const isFileSetting = (name: string) =>
  name.startsWith(settingPrefix) && name.endsWith('_FILE');

const { cert, key } = await makeCertificate('api.example.com');
const contents: Variables = {
  DATABASE_URL_FILE: 'postgresql://switchyard:secret@db.internal/switchyard?sslmode=verify-full',
  PLATFORM_KEY_FILE: randomBytes(32).toString('base64'),
  VAULT_KEY_FILE: randomBytes(32).toString('base64'),
  SMTP_URL_FILE: 'smtps://mail.example.com',
  NATS_URL_FILE: 'tls://switchyard:secret@nats.internal:4222',
  NATS_CA_FILE: cert,
  TLS_CERT_FILE: cert,
  TLS_KEY_FILE: key,
};

/** @throws SettingsError if the server would refuse the settings */
export function readContainerSettings(variables: Variables): Settings {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-container-'));
  try {
    const entries = Object.entries(variables).map(([name, value]) => {
      if (!isFileSetting(name)) return [name, value];
      const file = join(folder, value);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, contents[name.slice(settingPrefix.length)] ?? '');
      return [name, file];
    });
    return readSettings(Object.fromEntries(entries));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
