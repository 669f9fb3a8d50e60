/** The counts by result; each count links to its transactions. */
import type { ReconciliationDetail } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';

const outcomeMembers = [
  ['Matched', 'matched'],
  ['Different', 'different'],
  ['MissingHere', 'missingHere'],
  ['MissingThere', 'missingThere'],
] as const;

export function OutcomeCounts({
  reconciliation,
}: {
  readonly reconciliation: ReconciliationDetail;
}) {
  const t = useTranslate('reconciliations');
  const formats = useFormats();
  return (
    <Panel title={t('counts')}>
      <dl className="sy-counts">
        {outcomeMembers.map(([outcome, member]) => (
          <div key={outcome} data-outcome={outcome} data-none={reconciliation[member] === 0}>
            <dt>{t(`outcomes.${outcome}`)}</dt>
            <dd>
              <Link
                to={`/reconciliations/${reconciliation.reconciliationId}`}
                search={{ outcome } as never}
                aria-label={`${t(`outcomes.${outcome}`)}: ${formats.number(reconciliation[member])}`}
              >
                {formats.number(reconciliation[member])}
              </Link>
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
