// Compares the platform key of the settings with the key of the database at each start.
import { keyCheckValue } from '../crypto/key-check-value.ts';
import { SettingsError } from '../settings/settings.ts';
import type { Queries } from './database.ts';

const selectText = 'SELECT key_check_value AS value FROM platform_key_check WHERE singleton';
const insertText = `INSERT INTO platform_key_check (singleton, key_check_value, created_at)
  VALUES (true, $1, now()) ON CONFLICT DO NOTHING`;

/**
 * The first start stores the check value of its key. With another key, no stored secret could be read.
 *
 * @throws SettingsError if the key is not the key of this database
 */
export async function requirePlatformKey(database: Queries, platformKey: Buffer): Promise<void> {
  const actual = keyCheckValue(platformKey, 'platform-key-check');
  let [row] = await database.query<{ value: string }>(selectText);
  if (row === undefined) {
    await database.query(insertText, [actual]);
    [row] = await database.query<{ value: string }>(selectText);
  }
  if (row?.value === actual) return;
  throw new SettingsError([
    `SWITCHYARD_PLATFORM_KEY is not the key of this database: its check value is ${actual}, and the database has ${row?.value}. Set the key with which this database was first started`,
  ]);
}
