/** Derives the status of an endpoint. */
import type { WebhookEndpoint } from '@switchyard/contract';

export type EndpointStatus =
  | 'Working'
  | 'Failing'
  | 'Resting'
  | 'Off'
  | 'Unverified'
  | 'Gone'
  | 'Given';

export function endpointStatus({
  status,
  disabledReason,
  health,
}: Pick<WebhookEndpoint, 'status' | 'disabledReason' | 'health'>): EndpointStatus {
  if (status === 'Disabled') {
    if (disabledReason === 'Unverified') return 'Unverified';
    if (disabledReason === 'Gone') return 'Gone';
    return disabledReason === 'Unreachable' ? 'Given' : 'Off';
  }
  if (health?.restingUntil !== undefined) return 'Resting';
  return (health?.failures ?? 0) > 0 ? 'Failing' : 'Working';
}
