/** Signs a user in with password and one-time code, entered in the terminal. */
import { promptSecrets } from '../../output/prompt.ts';
import { fail } from '../../runtime/command-error.ts';
import type { RuntimeEnvironment } from '../../runtime/runtime-environment.ts';
import type { Session } from '../../session/session.ts';

export async function loginWithPassword(
  environment: RuntimeEnvironment,
  session: Session,
  username: string,
): Promise<void> {
  const [password = '', code = ''] = await promptSecrets(environment, [
    'Password: ',
    'One-time code (leave empty if you have none): ',
  ]);
  if (password === '') fail('usage', 'The password is empty. Enter your password.');
  await session.signIn({
    grant_type: 'password',
    username,
    password,
    scope: 'openid profile',
    ...(code.trim() === '' ? {} : { totp: code.trim() }),
  });
}
