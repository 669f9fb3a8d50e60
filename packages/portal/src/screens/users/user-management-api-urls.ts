/** The URLs of the users and groups of the user domain. */
import { useSession } from '../../session/use-session.ts';

export function useUsersUrl(): string {
  const { userDomainId } = useSession();
  return `/user-management/v2/user-domains/${userDomainId}/users`;
}

export function useGroupsUrl(): string {
  const { userDomainId } = useSession();
  return `/user-management/v2/user-domains/${userDomainId}/groups`;
}
