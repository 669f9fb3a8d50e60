/** Loads an application with its ETag, which an update must send. */
import type { Application } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { callApi } from '../../api/client.ts';
import { useApplicationsApiUrl } from './application-queries.ts';

export type LoadedApplication = {
  readonly application: Application;
  readonly etag: string;
  readonly address: string;
};

export function useApplication(clientId: string) {
  const address = `${useApplicationsApiUrl()}/${clientId}`;
  return useQuery({
    queryKey: ['application', clientId],
    queryFn: async ({ signal }): Promise<LoadedApplication> => {
      const { body, headers } = await callApi<Application>('GET', address, { signal });
      return { application: body, etag: headers.get('etag') ?? '*', address };
    },
  });
}
