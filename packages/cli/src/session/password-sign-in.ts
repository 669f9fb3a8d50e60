/** Signs a person in at the terminal: password, and a one-time code where the account has a second factor. */
import { fail } from '../faults.ts';
import { createTransport } from '../http/transport.ts';
import type { Kit } from '../kit.ts';
import { askSecrets } from '../screen/prompt.ts';
import { readNamed } from './files.ts';
import { requestToken } from './grants.ts';
import type { Profile } from './profiles.ts';
import { openTokenStore } from './token-store.ts';

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
