// Whether a user may go on with what was begun at a moment.
import type { User } from '../accounts/types.ts';

/**
 * Seconds are what tokens know of time: what began within the second of the cut
 * cannot be told from what came after it, and is cut too.
 */
export function isUserSessionValid(user: User | undefined, startedAt: number): user is User {
  if (user?.status !== 'Enabled') return false;
  return user.tokensNotBefore === undefined || startedAt >= user.tokensNotBefore;
}
