/** How an import stands, in a word. */
import type { BulkImport } from '@switchyard/contract';
import { StateBadge } from '../../parts/state-badge.tsx';
import { useWords } from '../../words/index.ts';

export function ImportState({ state }: { readonly state: BulkImport['state'] }) {
  const t = useWords('imports');
  return (
    <StateBadge state={state} {...(state === 'Interrupted' ? { tone: 'warn' } : {})}>
      {t(`states.${state}`)}
    </StateBadge>
  );
}
