// Refuses a wrong data directory before a command creates an empty platform in it.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** @throws Error where no platform was ever started, and no database is named */
export function requireDataDirectory(
  env: Readonly<Record<string, string | undefined>> = process.env,
) {
  if (env['SWITCHYARD_DATABASE_URL'] !== undefined) return;
  if (env['SWITCHYARD_DATABASE_URL_FILE'] !== undefined) return;
  const dataDir = resolve(env['SWITCHYARD_DATA_DIR'] ?? '.switchyard');
  if (existsSync(join(dataDir, 'postgres'))) return;
  throw new Error(
    `${dataDir} contains no platform; set SWITCHYARD_DATA_DIR to its data directory, or set SWITCHYARD_DATABASE_URL`,
  );
}
