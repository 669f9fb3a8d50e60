/** Where the users of the session's user domain are. */
import { useSession } from '../../session/use-session.ts';

export function useUsersAddress(): string {
  const { userDomainId } = useSession();
  return `/user-management/v2/user-domains/${userDomainId}/users`;
}

export function useGroupsAddress(): string {
  const { userDomainId } = useSession();
  return `/user-management/v2/user-domains/${userDomainId}/groups`;
}
