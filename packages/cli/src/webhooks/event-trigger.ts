/** An event trigger: the demo clients that it uses and the requests that it sends. */

import type { ApiClient } from '../http/api-client.ts';
import { membersOf } from '../http/problem-details.ts';
import type { Clock } from '../runtime/clock.ts';
import { fail } from '../runtime/command-error.ts';
import type { DemoDevice } from './demo-device-session.ts';

/** API clients of the demo: the merchant sells, the acquirer provisions, and a device takes QR payments. */
export type DemoClients = {
  readonly merchant: ApiClient;
  readonly acquirer: ApiClient;
  readonly terminal: () => Promise<DemoDevice>;
  readonly clock: Clock;
};

export type EventTrigger = {
  /** For the list of events. */
  readonly description: string;
  /** Sends the requests. Returns the identifier of the resource that the event names. */
  run(clients: DemoClients): Promise<string>;
};

/** Sends a POST and returns the identifier in the member `name` of the response. */
export async function createAndReadId(
  api: ApiClient,
  path: string,
  body: unknown,
  name: string,
): Promise<string> {
  const answer = await api.call('POST', path, { body });
  const id = membersOf(answer.body)[name];
  return typeof id === 'string'
    ? id
    : fail('fault', `The response of ${path} has no member ${name}.`);
}
