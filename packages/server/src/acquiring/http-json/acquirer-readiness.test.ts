import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { type AcquirerReadiness, createAcquirerReadiness } from './acquirer-readiness.ts';
import type { EchoResult } from './signed-exchange.ts';

const opened: AcquirerReadiness[] = [];
afterEach(() => {
  for (const each of opened.splice(0)) each.stop();
});

/** Creates a ready instance; the test controls the later echo results. */
async function ready() {
  const pendingEchoes: ((echo: EchoResult) => void)[] = [];
  const states: boolean[] = [];
  const readiness = createAcquirerReadiness({
    sendEcho: () => new Promise((resolve) => pendingEchoes.push(resolve)),
    onChange: (isReady) => void states.push(isReady),
    retryDelaysMs: [1],
  });
  opened.push(readiness);
  const answer = async (number: number, echo: EchoResult) => {
    await eventually(`question ${number}`, () => pendingEchoes.length >= number);
    pendingEchoes[number - 1]?.(echo);
  };
  await answer(1, 'Ready');
  await eventually('ready', readiness.isReady);
  return { readiness, states, pendingEchoes: pendingEchoes, answer };
}

test('an unreachable acquirer is not ready until an echo succeeds', async () => {
  const { readiness, states, answer } = await ready();
  readiness.recordSendFailure(readiness.countResponses());
  assert.equal(readiness.isReady(), false);
  await answer(2, 'NoResponse');
  await answer(3, 'Ready');
  await eventually('back', readiness.isReady);
  assert.deepEqual(states, [true, false, true]);
});

// Spec: PROV-57
test('an acquirer that responds to other requests stays ready until an echo fails', async () => {
  const { readiness, states, pendingEchoes, answer } = await ready();
  const before = readiness.countResponses();
  readiness.recordResponse();
  readiness.recordSendFailure(before);
  assert.equal(readiness.isReady(), true);
  await answer(2, 'NotReady');
  await eventually('away', () => !readiness.isReady());
  assert.deepEqual([states, pendingEchoes.length], [[true, false], 2]);
});

test('a lost echo is ignored while payments get responses', async () => {
  const { readiness, states, pendingEchoes, answer } = await ready();
  readiness.checkNow();
  await eventually('the question', () => pendingEchoes.length === 2);
  readiness.recordResponse();
  await answer(2, 'NoResponse');
  // One more echo without a response makes the acquirer unavailable.
  readiness.checkNow();
  await eventually('the next question', () => pendingEchoes.length === 3);
  assert.deepEqual(states, [true]);
  await answer(3, 'NoResponse');
  await eventually('away', () => !readiness.isReady());
});
