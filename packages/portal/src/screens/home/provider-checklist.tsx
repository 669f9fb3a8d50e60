/** The steps of a provider to the first customer. */
import type { Service } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import { useSession } from '../../session/use-session.ts';
import { type Step, StepList } from './step-list.tsx';

type Listed<Item> = { readonly items: readonly Item[] };

/** Only the first services are checked; a provider with more already has customers. */
const lookedAtMost = 10;

export function ProviderChecklist() {
  const { organizationId, userDomainId, permissions } = useSession();
  const base = '/service-catalog/v1/services';
  const listOwnServices = (status: Service['status'] | undefined, signal: AbortSignal) =>
    api.get<Listed<Service>>(base, {
      query: { providerId: organizationId, status, limit: lookedAtMost },
      signal,
    });
  const hasOne = async (
    address: string,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ) => {
    const page = await api.get<Listed<unknown>>(address, {
      query: { ...query, limit: 1 },
      signal,
    });
    return page.items.length > 0;
  };
  const applications = `/application-management/v1/user-domains/${userDomainId}/applications`;
  const steps: Step[] = [
    {
      word: 'service',
      to: '/own-services/new',
      isDone: async (signal) => (await listOwnServices(undefined, signal)).items.length > 0,
    },
    ...(permissions.includes('app.read')
      ? [
          {
            word: 'application',
            to: '/applications',
            isDone: (signal: AbortSignal) => hasOne(applications, {}, signal),
          },
        ]
      : []),
    {
      word: 'publish',
      to: '/own-services',
      isDone: async (signal) => (await listOwnServices('Published', signal)).items.length > 0,
    },
    {
      word: 'user',
      to: '/own-services',
      async isDone(signal) {
        const { items } = await listOwnServices('Published', signal);
        const used = items.map(({ serviceId }) =>
          hasOne(`${base}/${serviceId}/activations`, { status: 'Active' }, signal),
        );
        return (await Promise.all(used)).includes(true);
      },
    },
  ];
  return <StepList name="providerStart" steps={steps} />;
}
