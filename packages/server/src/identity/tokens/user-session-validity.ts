// Whether a session or token of a user is still valid, by the status of the user and its start
// time.
import type { User } from '../accounts/types.ts';

/**
 * Tokens have a resolution of one second: a token of the same second as the cut-off is refused as
 * well.
 */
export function isUserSessionValid(user: User | undefined, startedAt: number): user is User {
  if (user?.status !== 'Enabled') return false;
  return user.tokensNotBefore === undefined || startedAt >= user.tokensNotBefore;
}
