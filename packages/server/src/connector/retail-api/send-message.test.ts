// Tests how many messages may wait for an answer, with a separate limit for each client.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import type { Terminal } from '../../provisioning/index.ts';
import { exampleMessage } from './retail-routes.ts';
import { createMessageSender, type MessageCall } from './send-message.ts';

/** The limit for each client of a process. */
const most = 1000;

/** Creates an exchange that searches for its terminals until the test calls `stop`. */
function sample() {
  const looking = Promise.withResolvers<Terminal>();
  const messageSender = createMessageSender({
    sessionPool: { requireRunning: () => {} },
    store: {},
    terminals: { find: () => looking.promise },
    clock: { now: () => 1000 },
    dueClock: { now: () => 1000 },
  } as unknown as Parameters<typeof createMessageSender>[0]);
  const callOf = (organizationId: string) =>
    ({
      posCaller: { caller: { organizationId, clientId: 'till-7' } },
      tsn: 'T-1',
      body: Buffer.from(exampleMessage),
    }) as unknown as MessageCall;
  const outcome = (pending: Promise<unknown>) =>
    pending.then(
      () => 'answered',
      (error: unknown) => (error instanceof ProblemError ? error.code : String(error)),
    );
  return {
    sync: (organizationId: string) => outcome(messageSender.sendAndWait(callOf(organizationId))),
    async: (organizationId: string) =>
      outcome(messageSender.sendWithoutWaiting(callOf(organizationId))),
    stop: () => looking.reject(new ProblemError('device_unknown', 'It is not there.')),
  };
}

// Spec: LIST-4
it('clients of one name in two organisations have places each', async () => {
  const { stop, ...ask } = sample();
  const waiting = Array.from({ length: most }, () => ask.sync('one'));
  assert.deepEqual(
    [await ask.sync('one'), await ask.async('one')],
    ['rate_limited', 'rate_limited'],
  );
  const others = [ask.sync('other'), ask.async('other')];
  stop();
  assert.deepEqual(await Promise.all(others), ['device_unknown', 'device_unknown']);
  assert.deepEqual([...new Set(await Promise.all(waiting))], ['device_unknown']);
});
