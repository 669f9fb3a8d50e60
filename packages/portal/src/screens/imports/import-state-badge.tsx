/** How an import stands, in a word. */
import type { BulkImport } from '@switchyard/contract';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';

export function ImportState({ state }: { readonly state: BulkImport['state'] }) {
  const t = useTranslate('imports');
  return (
    <StateBadge state={state} {...(state === 'Interrupted' ? { tone: 'warn' } : {})}>
      {t(`states.${state}`)}
    </StateBadge>
  );
}
