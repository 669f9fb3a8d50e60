// A process whose clock is set back by an hour: what is due does not wait for the clock.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Answer } from './client.ts';
import { keyedSale } from './keyed-sale.ts';
import { type Scene, scene } from './scene.ts';
import { approve, networkOnly, type ScriptedHost, startScriptedHost } from './scripted-host.ts';
import { type SecondProcess, secondProcess } from './second-process.ts';
import { until } from './until.ts';

const base = '/payment/v1/transactions';
const hourMs = 3_600_000;
/** Far less than an hour, and enough for a slow machine. */
const limitMs = 60_000;

let host: ScriptedHost;
let on: Scene;
let process: SecondProcess;
/** Ahead of the other process on the database, to which nothing of this one is due for an hour. */
let aheadMs = hourMs;

before(async () => {
  host = await startScriptedHost();
  on = await scene({}, { acquirerPort: host.port });
  const clock = { now: () => Date.now() + aheadMs };
  process = await secondProcess(on, { clock, identityClock: { now: () => Date.now() } });
});
after(async () => {
  await process.stop();
  await host.stop();
});

const call = (method: string, path: string, body?: object): Promise<Answer> =>
  process.client.call(method, base + path, { token: on.shop.token, ...(body && { body }) });

const inState = (id: string, state: string) =>
  until(
    async () => {
      const { body } = await call('GET', `/${id}`);
      return body.state === state ? body : undefined;
    },
    `${id} to be ${state}`,
    limitMs,
  );

const repeats = () => host.asked.filter(({ message }) => message.mti.startsWith('042'));

test('a queued reversal and a confirmation deadline are acted on within seconds after the clock goes back an hour', async () => {
  const sale = keyedSale({ confirmWithinSeconds: 20 });
  const unconfirmed = await call('POST', '/process', sale);
  assert.ok(Date.parse(unconfirmed.body.confirmBy) > Date.now() + hourMs, unconfirmed.text);
  host.script(networkOnly);
  const unanswered = await call('POST', '/process', keyedSale());
  assert.equal(unanswered.body.state, 'Reversing', unanswered.text);
  await until(() => repeats()[0], 'the first reversal');

  aheadMs = 0;
  await until(
    () => on.logged.find((line) => line.includes('the process clock went back')),
    'the step in the log',
  );
  host.script(approve);
  const reversed = await inState(unanswered.body.transactionId, 'Reversed');
  const ended = await inState(unconfirmed.body.transactionId, 'Reversed');

  // What users see are times by the process clock.
  for (const { updatedAt } of [reversed, ended]) {
    assert.ok(Date.parse(updatedAt) < Date.now() + limitMs, updatedAt);
  }
  // A deadline that is set after the step is neither over at once nor an hour away.
  const next = await call('POST', '/process', keyedSale({ confirmWithinSeconds: 8 }));
  const { transactionId, confirmBy } = next.body;
  assert.ok(Date.parse(confirmBy) < Date.now() + limitMs, next.text);
  const { body: standing } = await call('GET', `/${transactionId}`);
  assert.equal(standing.confirmBy, confirmBy);
  await inState(transactionId, 'Reversed');
});
