/** The steps to the first payment; hidden after the first payment. */
import type { Permission } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import { useSession } from '../../session/use-session.ts';
import { type Step, StepList } from './step-list.tsx';

async function hasOne(address: string, signal: AbortSignal): Promise<boolean> {
  const { items } = await api.get<{ items: unknown[] }>(address, { query: { limit: 1 }, signal });
  return items.length > 0;
}

type ChecklistStep = Omit<Step, 'isDone'> & {
  readonly needs: Permission;
  readonly address: string;
};

function checklistSteps(userDomainId: string): ChecklistStep[] {
  const provisioning = '/provisioning/v2';
  const applications = `/application-management/v1/user-domains/${userDomainId}/applications`;
  return [
    {
      word: 'merchant',
      needs: 'prov.read',
      address: `${provisioning}/merchants`,
      to: '/merchants',
    },
    { word: 'store', needs: 'prov.read', address: `${provisioning}/stores`, to: '/stores' },
    {
      word: 'device',
      needs: 'prov.read',
      address: `${provisioning}/logical-devices`,
      to: '/devices',
    },
    { word: 'application', needs: 'app.read', address: applications, to: '/applications' },
    {
      word: 'payment',
      needs: 'rep.read',
      address: '/reporting/v1/transactions',
      to: '/virtual-terminal',
    },
  ];
}

export function FirstPaymentChecklist() {
  const { permissions, userDomainId } = useSession();
  const steps = checklistSteps(userDomainId)
    .filter(({ needs }) => permissions.includes(needs))
    .map(
      ({ word, to, address }): Step => ({
        word,
        to,
        isDone: (signal) => hasOne(address, signal),
      }),
    );
  return <StepList name="checklist" steps={steps} />;
}
