/** Loads the configuration of one service at one level, with the ETag for updates. */
import type { ServiceConfiguration } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { callApi } from '../../api/client.ts';
import { type ConfigurationScope, servicesApiUrl } from './configuration-levels.ts';

export type LoadedConfiguration = {
  readonly configuration: ServiceConfiguration;
  readonly etag: string;
  readonly address: string;
};

export function useConfiguration(scope: ConfigurationScope, serviceId: string) {
  const address = `${servicesApiUrl(scope)}/${encodeURIComponent(serviceId)}`;
  return useQuery({
    queryKey: ['configuration', scope.level, scope.entityId, serviceId],
    queryFn: async ({ signal }): Promise<LoadedConfiguration> => {
      const { body, headers } = await callApi<ServiceConfiguration>('GET', address, { signal });
      return { configuration: body, etag: headers.get('etag') ?? '*', address };
    },
  });
}
