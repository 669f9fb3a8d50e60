// Exchanges clearing files by folders: what is laid into `inbox` is answered in `outbox`.
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClearingDesk } from './process-clearing-file.ts';

const LOOK_EVERY_MS = 500;
const OWNER_ONLY = 0o600;
const OWNER_ONLY_DIRECTORY = 0o700;
/** A file under way has another ending until it is whole. */
const ENDING = '.txt';

export type ClearingBox = { stop(): void };

/** Looks into the inbox from time to time; a file that was answered goes to `done`. */
export function openClearingBox(deps: {
  directory: string;
  desk: ClearingDesk;
  onFault(error: unknown, file: string): void;
}): ClearingBox {
  const folder = (name: string) => join(deps.directory, name);
  for (const name of ['inbox', 'outbox', 'done']) {
    mkdirSync(folder(name), { recursive: true, mode: OWNER_ONLY_DIRECTORY });
  }

  function take(file: string): void {
    const from = join(folder('inbox'), file);
    try {
      const answer = deps.desk.take(readFileSync(from, 'utf8'));
      const to = join(folder('outbox'), `${file.slice(0, -ENDING.length)}.ack`);
      writeFileSync(`${to}.part`, answer, { mode: OWNER_ONLY });
      renameSync(`${to}.part`, to);
    } catch (error) {
      deps.onFault(error, file);
    }
    renameSync(from, join(folder('done'), file));
  }

  function look(): void {
    try {
      const files = readdirSync(folder('inbox')).filter((name) => name.endsWith(ENDING));
      for (const file of files.sort()) take(file);
    } catch (error) {
      deps.onFault(error, folder('inbox'));
    }
  }

  const timer = setInterval(look, LOOK_EVERY_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
