/** Where the applications of the session's user domain are, and the roles that there are. */
import type { RoleList } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useSession } from '../../session/use-session.ts';

export function useApplicationsAddress(): string {
  const { userDomainId } = useSession();
  return `/application-management/v1/user-domains/${userDomainId}/applications`;
}

/** They change with a release of the platform alone. */
export function useRoles() {
  return useQuery({
    queryKey: ['roles'],
    queryFn: ({ signal }) => api.get<RoleList>('/resources/v1/roles', { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
