/** The status badge of an endpoint. */
import type { WebhookEndpoint } from '@switchyard/contract';
import { StateBadge, type Tone } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';
import { type EndpointStatus, endpointStatus } from './endpoint-status.ts';

const tones: Readonly<Record<EndpointStatus, Tone>> = {
  Working: 'good',
  Failing: 'warn',
  Resting: 'warn',
  Off: 'plain',
  Unverified: 'busy',
  Gone: 'bad',
  Given: 'bad',
};

export function EndpointBadge({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const t = useTranslate('webhooks');
  const status = endpointStatus(endpoint);
  return (
    <StateBadge state={status} tone={tones[status]}>
      {t(`standings.${status}`)}
    </StateBadge>
  );
}
