// Checks if the program that `npm start` runs beside the server builds the pages now.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isProcessAlive } from '../../platform/index.ts';

/** The building process holds this lock and writes its process ID into it. */
const lockFile = fileURLToPath(new URL('../../../../../.cache/build.lock/pid', import.meta.url));

export function isBuilding(file = lockFile): boolean {
  try {
    return isProcessAlive(Number(readFileSync(file, 'utf8')));
  } catch {
    // No process holds the lock.
    return false;
  }
}
