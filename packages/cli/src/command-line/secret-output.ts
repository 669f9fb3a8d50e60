/** Writes a new secret to a file that only its owner can read, or prints it with --show-secret. */
import { closeSync, unlinkSync, writeSync } from 'node:fs';
import { fail } from '../runtime/command-error.ts';
import { openNewFile } from '../session/private-files.ts';
import { option } from './command-option.ts';

export type SecretOptions = { readonly secretOut?: string; readonly showSecret?: boolean };

const secretMembers = ['clientSecret', 'signingSecret', 'secret'] as const;

export const secretOptions = [
  option('--secret-out <file>', 'write the secret to this new file; only you can read it'),
  option('--show-secret', 'print the secret; it is not shown again'),
];

/**
 * Sends a request whose response contains a new secret. The file is opened before the request, because
 * the server returns the secret only once; it is removed if the request fails.
 *
 * @returns the response without the secret, unless the user wants to see it
 */
export async function requestSecret(
  { secretOut, showSecret }: SecretOptions,
  request: () => Promise<{ body: unknown }>,
): Promise<Record<string, unknown>> {
  if (secretOut === undefined && !showSecret) {
    fail(
      'usage',
      'The server returns the secret only once. Name a file with --secret-out, or print it with --show-secret.',
    );
  }
  const file = secretOut === undefined ? undefined : openNewFile(secretOut);
  try {
    const { body } = await request();
    const members = { ...(body as Record<string, unknown>) };
    const name = secretMembers.find((each) => typeof members[each] === 'string');
    if (file !== undefined && name !== undefined) writeSecret(file, secretOut, members[name]);
    if (!showSecret && name !== undefined) delete members[name];
    return members;
  } catch (error) {
    if (secretOut !== undefined) unlinkSync(secretOut);
    throw error;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function writeSecret(file: number, name: string | undefined, secret: unknown): void {
  try {
    writeSync(file, `${secret}\n`);
  } catch (error) {
    fail(
      'fault',
      `The secret exists, but ${name} could not be written: ${(error as Error).message}. Create another one with rotate-secret.`,
    );
  }
}
