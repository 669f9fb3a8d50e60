/** Reads the configuration of one service at one place, with the tag that a change has to send. */
import type { ServiceConfiguration } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { addressOf, type ConfigurationScope } from './configuration-levels.ts';

export type FoundConfiguration = {
  readonly configuration: ServiceConfiguration;
  readonly etag: string;
  readonly address: string;
};

export function useConfiguration(scope: ConfigurationScope, serviceId: string) {
  const address = `${addressOf(scope)}/${encodeURIComponent(serviceId)}`;
  return useQuery({
    queryKey: ['configuration', scope.level, scope.entityId, serviceId],
    queryFn: async ({ signal }): Promise<FoundConfiguration> => {
      const { body, headers } = await call<ServiceConfiguration>('GET', address, { signal });
      return { configuration: body, etag: headers.get('etag') ?? '*', address };
    },
  });
}
