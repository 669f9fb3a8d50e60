// Whether the pages are built at this moment, by the program that `npm start` runs beside the server.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isProcessAlive } from '../platform/index.ts';

/** Who builds holds it, and has put his process id there. */
const lockFile = fileURLToPath(new URL('../../../../.cache/portal.lock/pid', import.meta.url));

export function isBuilding(file = lockFile): boolean {
  try {
    return isProcessAlive(Number(readFileSync(file, 'utf8')));
  } catch {
    // Nobody has it.
    return false;
  }
}
