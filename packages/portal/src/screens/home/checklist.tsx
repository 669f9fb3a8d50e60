/** The way to the first payment, step by step; it goes once there is one. */
import type { Permission } from '@switchyard/contract';
import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { Icon } from '../../parts/icons.tsx';
import { Panel } from '../../parts/page.tsx';
import { screens } from '../../screens.ts';
import { useSession } from '../../session/use-session.ts';
import { useWords } from '../../words/index.ts';

type Step = {
  readonly word: string;
  readonly needs: Permission;
  readonly address: string;
  readonly to: string;
};

function stepsFor(userDomainId: string): Step[] {
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

const keptMs = 60_000;

async function hasOne(address: string): Promise<boolean> {
  const { items } = await api.get<{ items: unknown[] }>(address, { query: { limit: 1 } });
  return items.length > 0;
}

export function Checklist() {
  const t = useWords('home');
  const { permissions, userDomainId } = useSession();
  const steps = stepsFor(userDomainId).filter(({ needs }) => permissions.includes(needs));
  const found = useQueries({
    queries: steps.map(({ address }) => ({
      queryKey: ['has-one', address],
      queryFn: () => hasOne(address),
      staleTime: keptMs,
    })),
  });
  const isDone = found.map(({ data }) => data === true);
  // Until all is known nothing is shown: what is done would only flash by.
  if (found.some(({ isPending }) => isPending) || isDone.at(-1) === true) return null;
  const next = isDone.indexOf(false);
  const count = isDone.filter(Boolean).length;
  return (
    <Panel title={t('checklist.title')} flush>
      <p className="sy-checklist-lead">{t('checklist.lead', { count, total: steps.length })}</p>
      <ol className="sy-checklist">
        {steps.map(({ word, to }, at) => {
          const isKnown = screens.some(({ path }) => path === to);
          return (
            <li key={word} data-done={isDone[at]} data-next={at === next}>
              <span className="sy-checklist-mark" aria-hidden="true">
                {isDone[at] === true ? <Icon name="check" size={14} /> : at + 1}
              </span>
              <div>
                <strong>
                  {isKnown ? (
                    <Link to={to}>{t(`checklist.${word}.name`)}</Link>
                  ) : (
                    t(`checklist.${word}.name`)
                  )}
                </strong>
                <span>{t(isDone[at] === true ? 'checklist.done' : `checklist.${word}.text`)}</span>
              </div>
            </li>
          );
        })}
      </ol>
    </Panel>
  );
}
