/** The status badge of an import. */
import type { BulkImport } from '@switchyard/contract';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';

export function ImportStateBadge({ state }: { readonly state: BulkImport['state'] }) {
  const t = useTranslate('imports');
  return (
    <StateBadge state={state} {...(state === 'Interrupted' ? { tone: 'warn' } : {})}>
      {t(`states.${state}`)}
    </StateBadge>
  );
}
