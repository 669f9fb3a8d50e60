/** One application, with the ETag that a change of it has to name. */
import type { Application } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { useApplicationsAddress } from './application-queries.ts';

export type FoundApplication = {
  readonly application: Application;
  readonly etag: string;
  readonly address: string;
};

export function useApplication(clientId: string) {
  const address = `${useApplicationsAddress()}/${clientId}`;
  return useQuery({
    queryKey: ['application', clientId],
    queryFn: async ({ signal }): Promise<FoundApplication> => {
      const { body, headers } = await call<Application>('GET', address, { signal });
      return { application: body, etag: headers.get('etag') ?? '*', address };
    },
  });
}
