/** The checklists of the home screen: the steps to the first payment, and to the first customer of a provider. */
import type { Permission, Service } from '@switchyard/contract';
import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { currentPortal } from '../../app/current-portal.ts';
import { isAccessibleTo } from '../../app/screen-access.ts';
import { useScreens } from '../../app/use-screens.ts';
import { Icon } from '../../components/icon.tsx';
import { Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';

type Step = {
  /** A key of `home.json`, below the name of the list. */
  readonly word: string;
  /** The path of the screen for this step. */
  readonly to: string;
  isDone(signal: AbortSignal): Promise<boolean>;
};

const cacheMs = 15_000;

/** Whether the user may open a screen at this path. */
function useMayOpen(): (to: string) => boolean {
  const session = useSession();
  const screens = useScreens();
  return (to) =>
    screens.some((screen) => screen.path === to && isAccessibleTo(screen, session, currentPortal));
}

function StepList({ name, steps }: { readonly name: string; readonly steps: readonly Step[] }) {
  const t = useTranslate('home');
  const mayOpen = useMayOpen();
  const results = useQueries({
    queries: steps.map(({ word, isDone }) => ({
      queryKey: ['steps', name, word],
      queryFn: ({ signal }: { signal: AbortSignal }) => isDone(signal),
      staleTime: cacheMs,
    })),
  });
  const completions = results.map(({ data }) => data === true);
  // Nothing is shown until all states are loaded, so that completed steps do not flash.
  if (results.some(({ isPending }) => isPending) || completions.at(-1) === true) return null;
  const next = completions.indexOf(false);
  const count = completions.filter(Boolean).length;
  return (
    <Panel title={t(`${name}.title`)} flush>
      <p className="sy-checklist-lead">{t(`${name}.lead`, { count, total: steps.length })}</p>
      <div className="sy-checklist-bar" aria-hidden="true">
        <i style={{ width: `${(count / steps.length) * 100}%` }} />
      </div>
      <ol className="sy-checklist">
        {steps.map(({ word, to }, at) => (
          <li key={word} data-done={completions[at]} data-next={at === next}>
            <span className="sy-checklist-mark" aria-hidden="true">
              {completions[at] === true ? <Icon name="check" size={14} /> : at + 1}
            </span>
            <div>
              <strong>
                {mayOpen(to) ? (
                  <Link to={to}>{t(`${name}.${word}.name`)}</Link>
                ) : (
                  t(`${name}.${word}.name`)
                )}
              </strong>
              <span>{t(completions[at] === true ? 'done' : `${name}.${word}.text`)}</span>
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

type Listed<Item> = { readonly items: readonly Item[] };

async function hasOne(
  address: string,
  signal: AbortSignal,
  filter: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  const query = { ...filter, limit: 1 };
  return (await api.get<Listed<unknown>>(address, { query, signal })).items.length > 0;
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
            isDone: (signal: AbortSignal) => hasOne(applications, signal),
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
          hasOne(`${base}/${serviceId}/activations`, signal, { status: 'Active' }),
        );
        return (await Promise.all(used)).includes(true);
      },
    },
  ];
  return <StepList name="providerStart" steps={steps} />;
}
