/** How many movements agree, and how many do not; each figure leads to its list. */
import type { ReconciliationDetail } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';

const shown = [
  ['Matched', 'matched'],
  ['Different', 'different'],
  ['MissingHere', 'missingHere'],
  ['MissingThere', 'missingThere'],
] as const;

export function Counts({ of }: { readonly of: ReconciliationDetail }) {
  const t = useTranslate('reconciliations');
  const formats = useFormats();
  return (
    <Panel title={t('counts')}>
      <dl className="sy-counts">
        {shown.map(([outcome, member]) => (
          <div key={outcome} data-outcome={outcome} data-none={of[member] === 0}>
            <dt>{t(`outcomes.${outcome}`)}</dt>
            <dd>
              <Link
                to={`/reconciliations/${of.reconciliationId}`}
                search={{ outcome } as never}
                aria-label={`${t(`outcomes.${outcome}`)}: ${formats.number(of[member])}`}
              >
                {formats.number(of[member])}
              </Link>
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
