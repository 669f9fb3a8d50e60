/** New secrets of single things: to a file for the owner alone, or shown where somebody asked for it. */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { Command } from 'commander';
import { fail } from '../runtime/command-error.ts';
import type { Kit } from './command-runner.ts';

export type SecretOptions = { readonly secretOut?: string; readonly showSecret?: boolean };

const names = ['clientSecret', 'signingSecret', 'secret'] as const;
const ownerOnly = 0o600;

export function secretOptions(command: Command): Command {
  return command
    .option('--secret-out <file>', 'the file that the secret goes to; it is made for you alone')
    .option('--show-secret', 'shows the secret, this once');
}

/** Opened before the secret is made: told to nobody it would be lost. */
export function openSecret({
  secretOut,
  showSecret,
}: SecretOptions): (told: unknown) => Record<string, unknown> {
  if (secretOut === undefined && !showSecret) {
    fail(
      'usage',
      'The secret is told once: say where it goes with --secret-out, or --show-secret.',
    );
  }
  const file = secretOut === undefined ? undefined : openNew(secretOut);
  return (told) => {
    const members = { ...(told as Record<string, unknown>) };
    const name = names.find((each) => typeof members[each] === 'string');
    if (file !== undefined) {
      if (name !== undefined) writeSync(file, `${members[name]}\n`);
      closeSync(file);
    }
    if (!showSecret && name !== undefined) delete members[name];
    return members;
  };
}

/** Never over something that is there: it may be the only copy of another secret. */
function openNew(file: string): number {
  try {
    return openSync(file, 'wx', ownerOnly);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return fail(
      'usage',
      code === 'EEXIST' ? `${file} is there already.` : `${file} cannot be written: ${code}.`,
    );
  }
}

/** Asks for a new secret of something that is there. */
export async function renewSecret(
  kit: Kit,
  path: string,
  options: SecretOptions,
): Promise<undefined> {
  const keep = openSecret(options);
  const { body } = await kit.api().call('POST', path);
  const told = keep(body);
  kit.screen.result(told, () => kit.screen.members(told));
  return undefined;
}
