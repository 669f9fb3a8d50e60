/** Writes a new secret to a file that only its owner can read, or prints it with --show-secret. */
import { closeSync, writeSync } from 'node:fs';
import { fail } from '../runtime/command-error.ts';
import { openNewFile } from '../session/private-files.ts';
import { option } from './command-option.ts';

export type SecretOptions = { readonly secretOut?: string; readonly showSecret?: boolean };

const secretMembers = ['clientSecret', 'signingSecret', 'secret'] as const;

export const secretOptions = [
  option('--secret-out <file>', 'write the secret to this new file; only you can read it'),
  option('--show-secret', 'print the secret; it is not shown again'),
];

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
  const file = secretOut === undefined ? undefined : openNewFile(secretOut);
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
