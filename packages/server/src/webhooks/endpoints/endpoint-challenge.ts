// Sends a signed challenge that an endpoint must return, to prove that it accepts events.
import {
  type Clock,
  createWebhookHeaders,
  type Ids,
  isoTime,
  type OutgoingCalls,
} from '../../platform/index.ts';
import type { EndpointKeys } from './endpoint-keys.ts';
import type { EndpointRecord } from './endpoint-sql.ts';

const timeoutMs = 10_000;
const maxResponseBytes = 1_024;
const ok = 200;

export type EndpointChallenge = {
  /** Returns the fault, or undefined if the endpoint answered correctly. */
  findFault(row: EndpointRecord): Promise<string | undefined>;
};

/** @example const fault = await createEndpointChallenge({ calls, keys, clock, ids }).findFault(row); */
export function createEndpointChallenge(deps: {
  readonly calls: Pick<OutgoingCalls, 'call'>;
  readonly keys: EndpointKeys;
  readonly clock: Clock;
  readonly ids: Ids;
}): EndpointChallenge {
  const { calls, keys, clock, ids } = deps;
  return {
    async findFault(row) {
      const at = clock.now();
      const word = ids.secret();
      const data = { organizationId: row.organizationId, endpointId: row.endpointId };
      const body = JSON.stringify({
        type: 'endpoint.challenge',
        timestamp: isoTime(at),
        data: { ...data, challenge: word },
      });
      const headers = createWebhookHeaders({ id: ids.uuid(), sentAt: at, body, ...keys.open(row) });
      const answer = await calls.call(row.url, {
        method: 'POST',
        headers,
        body,
        timeoutMs,
        maxResponseBytes,
        isIdempotent: true,
      });
      if (answer.fault !== undefined) return `could not be called: ${answer.fault}`;
      if (answer.status !== ok) return `answered its challenge with status ${answer.status}`;
      return answer.body.trim() === word ? undefined : 'returned a body that is not the challenge';
    },
  };
}
