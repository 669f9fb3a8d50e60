/** The status badge of an acquirer link. */
import { StateBadge, type Tone } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';
import type { LinkState } from './link-state.ts';

const tones: Readonly<Record<LinkState, Tone>> = {
  Available: 'good',
  Alarm: 'bad',
  Unavailable: 'bad',
  Faulty: 'bad',
  PendingApproval: 'plain',
  Disabled: 'plain',
  Unknown: 'plain',
};

export function LinkBadge({ state }: { readonly state: LinkState }) {
  const t = useTranslate('acquirers');
  return (
    <StateBadge state={state} tone={tones[state]}>
      {t(`states.${state}`)}
    </StateBadge>
  );
}
