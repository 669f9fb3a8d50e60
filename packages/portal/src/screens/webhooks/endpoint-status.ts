/** How an endpoint fares, in a word: whether it is on, and whether it answers. */
import type { WebhookEndpoint } from '@switchyard/contract';

export type Standing = 'Working' | 'Failing' | 'Resting' | 'Off' | 'Unverified' | 'Gone' | 'Given';

export function standingOf({
  status,
  disabledReason,
  health,
}: Pick<WebhookEndpoint, 'status' | 'disabledReason' | 'health'>): Standing {
  if (status === 'Disabled') {
    if (disabledReason === 'Unverified') return 'Unverified';
    if (disabledReason === 'Gone') return 'Gone';
    return disabledReason === 'Unreachable' ? 'Given' : 'Off';
  }
  if (health?.restingUntil !== undefined) return 'Resting';
  return (health?.failures ?? 0) > 0 ? 'Failing' : 'Working';
}
