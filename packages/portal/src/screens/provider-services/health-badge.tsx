/** The health badge of a provider's server. */
import type { ServiceCalls } from '@switchyard/contract';
import { StateBadge, type Tone } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';

const tones: Readonly<Record<ServiceCalls['status'], Tone>> = {
  Up: 'good',
  Degraded: 'warn',
  Down: 'bad',
  Quiet: 'plain',
};

export function HealthBadge({ status }: { readonly status: ServiceCalls['status'] }) {
  const t = useTranslate('provider-services');
  return (
    <StateBadge state="" tone={tones[status]}>
      {t(`health.states.${status}`)}
    </StateBadge>
  );
}
