/** The applications of the user domain, and the list of roles. */
import type { Application, RoleList } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useVersioned } from '../../app/versioned-resources.ts';
import { useSession } from '../../session/use-session.ts';

export function useApplicationsApiUrl(): string {
  const { userDomainId } = useSession();
  return `/application-management/v1/user-domains/${userDomainId}/applications`;
}

export function useApplication(clientId: string) {
  return useVersioned<Application>('application', `${useApplicationsApiUrl()}/${clientId}`);
}

/** The list changes only with a new release of the platform. */
export function useRoles() {
  return useQuery({
    queryKey: ['roles'],
    queryFn: ({ signal }) => api.get<RoleList>('/resources/v1/roles', { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
