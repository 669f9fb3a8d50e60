// Chooses how to send mail: over SMTP if a server is set, otherwise into files of the data directory.

import type { Ids } from '../identifiers/ids.ts';
import type { Clock } from '../time/clock.ts';
import { createMailFiles } from './mail-files.ts';
import { createSmtpMail, type Mail } from './smtp-mail.ts';

type Deps = {
  readonly settings: {
    readonly dataDir: string;
    readonly smtpUrl?: string | undefined;
    readonly mailFrom: string;
    readonly mailTimeoutMs: number;
  };
  readonly clock: Clock;
  readonly ids: Ids;
};

/** @example const mail = createMail({ settings, clock, ids }); await mail.send(message); */
export function createMail({ settings, clock, ids }: Deps): Mail {
  const { smtpUrl } = settings;
  if (smtpUrl === undefined) return createMailFiles({ ...settings, clock, ids });
  return createSmtpMail({ ...settings, smtpUrl, clock });
}
