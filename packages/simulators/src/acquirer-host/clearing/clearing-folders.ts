// Exchanges clearing files by folders: a file in `inbox` gets its acknowledgement in `outbox`.
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClearingProcessor } from './process-clearing-file.ts';

const POLL_INTERVAL_MS = 500;
const OWNER_ONLY = 0o600;
const OWNER_ONLY_DIRECTORY = 0o700;
/** An incomplete file has another extension. */
const FILE_EXTENSION = '.txt';

export type ClearingFolderWatcher = { stop(): void };

/** Polls the inbox; a processed file moves to `done`. */
export function watchClearingFolders(deps: {
  directory: string;
  desk: ClearingProcessor;
  onFault(error: unknown, file: string): void;
}): ClearingFolderWatcher {
  const folder = (name: string) => join(deps.directory, name);
  for (const name of ['inbox', 'outbox', 'done']) {
    mkdirSync(folder(name), { recursive: true, mode: OWNER_ONLY_DIRECTORY });
  }

  function processFile(file: string): void {
    const from = join(folder('inbox'), file);
    try {
      const answer = deps.desk.process(readFileSync(from, 'utf8'));
      const to = join(folder('outbox'), `${file.slice(0, -FILE_EXTENSION.length)}.ack`);
      writeFileSync(`${to}.part`, answer, { mode: OWNER_ONLY });
      renameSync(`${to}.part`, to);
    } catch (error) {
      deps.onFault(error, file);
    }
    renameSync(from, join(folder('done'), file));
  }

  function processInbox(): void {
    try {
      const files = readdirSync(folder('inbox')).filter((name) => name.endsWith(FILE_EXTENSION));
      for (const file of files.sort()) processFile(file);
    } catch (error) {
      deps.onFault(error, folder('inbox'));
    }
  }

  const timer = setInterval(processInbox, POLL_INTERVAL_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
