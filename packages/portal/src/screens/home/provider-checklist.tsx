/** The way of a provider to the first organisation that uses a service of it. */
import type { Service } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import { useSession } from '../../session/use-session.ts';
import { type Step, Steps } from './step-list.tsx';

type Listed<Item> = { readonly items: readonly Item[] };

/** Whoever has more services has a first user long since. */
const lookedAtMost = 10;

export function ProviderStart() {
  const { organizationId, userDomainId, permissions } = useSession();
  const base = '/service-catalog/v1/services';
  const own = (status: Service['status'] | undefined, signal: AbortSignal) =>
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
      isDone: async (signal) => (await own(undefined, signal)).items.length > 0,
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
      isDone: async (signal) => (await own('Published', signal)).items.length > 0,
    },
    {
      word: 'user',
      to: '/own-services',
      async isDone(signal) {
        const { items } = await own('Published', signal);
        const used = items.map(({ serviceId }) =>
          hasOne(`${base}/${serviceId}/activations`, { status: 'Active' }, signal),
        );
        return (await Promise.all(used)).includes(true);
      },
    },
  ];
  return <Steps name="providerStart" steps={steps} />;
}
