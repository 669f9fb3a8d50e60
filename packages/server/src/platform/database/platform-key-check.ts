// Compares the platform key of the settings with the key of the database at each start.
import { keyCheckValue } from '../crypto/key-check-value.ts';
import { SettingsError } from '../settings/settings.ts';
import type { Queries } from './database.ts';

const tableText = `SELECT to_regclass('platform_key_check') IS NOT NULL AS "exists"`;
const selectText = 'SELECT key_check_value AS value FROM platform_key_check WHERE singleton';
const insertText = `INSERT INTO platform_key_check (singleton, key_check_value, created_at)
  VALUES (true, $1, now()) ON CONFLICT DO NOTHING`;

const computeCheckValue = (platformKey: Buffer) => keyCheckValue(platformKey, 'platform-key-check');

/**
 * Writes nothing. A database without a check value accepts any key. With a wrong key the platform cannot decrypt stored secrets.
 *
 * @throws SettingsError if the key is not the key of this database
 */
export async function requirePlatformKey(database: Queries, platformKey: Buffer): Promise<void> {
  const [table] = await database.query<{ exists: boolean }>(tableText);
  if (table?.exists !== true) return;
  const actual = computeCheckValue(platformKey);
  const [row] = await database.query<{ value: string }>(selectText);
  if (row === undefined || row.value === actual) return;
  throw new SettingsError([
    `SWITCHYARD_PLATFORM_KEY is not the key of this database: its check value is ${actual}, and the database has ${row.value}. Set the key with which this database was first started; if that key was a mistake and the database contains no data, use an empty database`,
  ]);
}

/**
 * The first start stores the check value of its key.
 *
 * @throws SettingsError if another process was first, with another key
 */
export async function storePlatformKeyCheck(database: Queries, platformKey: Buffer): Promise<void> {
  await database.query(insertText, [computeCheckValue(platformKey)]);
  await requirePlatformKey(database, platformKey);
}
