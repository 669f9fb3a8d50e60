/** Signs a user in with password and one-time code, entered in the terminal. */

import type { CommandContext } from '../../command-line/command-runner.ts';
import { createTransport } from '../../http/https-transport.ts';
import { promptSecrets } from '../../output/prompt.ts';
import { fail } from '../../runtime/command-error.ts';
import { readInputFile } from '../../session/private-files.ts';
import type { Profile } from '../../session/profiles.ts';
import { requestToken } from '../../session/token-request.ts';
import { openTokenStore } from '../../session/token-store.ts';

export async function loginWithPassword(
  { environment, globals }: CommandContext,
  profile: Profile,
  username: string,
): Promise<void> {
  const [password = '', code = ''] = await promptSecrets(environment, [
    'Password: ',
    'One-time code (leave empty if you have none): ',
  ]);
  if (password === '') fail('usage', 'The password is empty. Enter your password.');
  const ca = profile.caFile === undefined ? undefined : readInputFile(profile.caFile);
  const transport = createTransport({ ca, timeoutMs: globals.timeout * 1000 });
  const form = {
    grant_type: 'password',
    client_id: profile.clientId,
    username,
    password,
    scope: 'openid profile',
    ...(code.trim() === '' ? {} : { totp: code.trim() }),
  };
  try {
    const token = await requestToken(transport, profile, form, environment.clock.now());
    openTokenStore(environment, profile).save(token);
  } finally {
    transport.close();
  }
}
