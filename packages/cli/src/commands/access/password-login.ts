/** Signs a person in at the terminal: password, and a one-time code where the account has a second factor. */

import type { Kit } from '../../command-line/command-runner.ts';
import { createTransport } from '../../http/https-transport.ts';
import { askSecrets } from '../../output/prompt.ts';
import { fail } from '../../runtime/command-error.ts';
import { readNamed } from '../../session/private-files.ts';
import type { Profile } from '../../session/profiles.ts';
import { requestToken } from '../../session/token-request.ts';
import { openTokenStore } from '../../session/token-store.ts';

export async function signInByPassword(
  { world, globals }: Kit,
  profile: Profile,
  username: string,
): Promise<void> {
  const [password = '', code = ''] = await askSecrets(world, [
    'Password: ',
    'One-time code (empty without one): ',
  ]);
  if (password === '') fail('usage', 'No password was given.');
  const ca = profile.caFile === undefined ? undefined : readNamed(profile.caFile);
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
    const granted = await requestToken(transport, profile, form, world.clock.now());
    openTokenStore(world, profile).keep(granted);
  } finally {
    transport.close();
  }
}
