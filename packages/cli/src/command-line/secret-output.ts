/** Writes a new secret to a file that only its owner can read, or prints it with --show-secret. */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { Command } from 'commander';
import { fail } from '../runtime/command-error.ts';
import type { CommandContext } from './command-runner.ts';

export type SecretOptions = { readonly secretOut?: string; readonly showSecret?: boolean };

const secretMembers = ['clientSecret', 'signingSecret', 'secret'] as const;
const ownerOnly = 0o600;

export function addSecretOptions(command: Command): Command {
  return command
    .option('--secret-out <file>', 'write the secret to this new file; only you can read it')
    .option('--show-secret', 'print the secret; it is shown only this once');
}

/** Opens the file before the secret is created: the server returns the secret only once. */
export function openSecretOutput({
  secretOut,
  showSecret,
}: SecretOptions): (response: unknown) => Record<string, unknown> {
  if (secretOut === undefined && !showSecret) {
    fail(
      'usage',
      'The server returns the secret only once. Name a file with --secret-out, or print it with --show-secret.',
    );
  }
  const file = secretOut === undefined ? undefined : createSecretFile(secretOut);
  return (response) => {
    const members = { ...(response as Record<string, unknown>) };
    const name = secretMembers.find((each) => typeof members[each] === 'string');
    if (file !== undefined) {
      if (name !== undefined) writeSync(file, `${members[name]}\n`);
      closeSync(file);
    }
    if (!showSecret && name !== undefined) delete members[name];
    return members;
  };
}

/** Never overwrites a file: it may be the only copy of another secret. */
function createSecretFile(file: string): number {
  try {
    return openSync(file, 'wx', ownerOnly);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return fail(
      'usage',
      code === 'EEXIST'
        ? `${file} exists already. Name a new file.`
        : `${file} cannot be written: ${code}.`,
    );
  }
}

/** Replaces the secret of an existing resource, and prints or writes the new one. */
export async function rotateSecret(
  context: CommandContext,
  path: string,
  options: SecretOptions,
): Promise<undefined> {
  const outputSecret = openSecretOutput(options);
  const { body } = await context.api().call('POST', path);
  const response = outputSecret(body);
  context.output.printResult(response, () => context.output.formatMembers(response));
  return undefined;
}
