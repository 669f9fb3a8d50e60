// Stores mail in files instead of sending it, for the demo and for tests.
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ids } from '../identifiers/ids.ts';
import { type Clock, isoTime } from '../time/clock.ts';
import { toNodemailerMessage } from './mail-message.ts';
import type { Mail } from './smtp-mail.ts';

/** Older files are deleted. */
const maxFiles = 1_000;

type Deps = {
  readonly dataDir: string;
  readonly mailFrom: string;
  readonly clock: Clock;
  readonly ids: Ids;
};

/** The directory of the mail files, whose names sort by time. */
export function mailDirectory({ dataDir }: { readonly dataDir: string }): string {
  return join(dataDir, 'mail');
}

export function createMailFiles(deps: Deps): Mail {
  const { mailFrom, clock, ids } = deps;
  const directory = mailDirectory(deps);

  async function prune(): Promise<void> {
    const names = (await readdir(directory)).filter((name) => name.endsWith('.eml')).sort();
    const old = names.slice(0, Math.max(0, names.length - maxFiles));
    await Promise.all(old.map((name) => rm(join(directory, name), { force: true })));
  }

  async function open(): Promise<void> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
  }

  return {
    open,
    async send(message) {
      const { createTransport } = await import('nodemailer');
      const transport = createTransport({ streamTransport: true, buffer: true });
      const { message: bytes } = await transport.sendMail(
        toNodemailerMessage(message, mailFrom, clock),
      );
      const name = `${isoTime(clock.now()).replaceAll(':', '')}-${ids.uuid()}`;
      await open();
      // Renamed when complete, so that programs that watch the directory see only complete mails.
      const partial = join(directory, `${name}.partial`);
      await writeFile(partial, bytes as Buffer, { mode: 0o600 });
      await rename(partial, join(directory, `${name}.eml`));
      await prune();
    },
    async close() {},
  };
}
