import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Exchange, OnAnswer } from './exchange.ts';
import type { HttpAnswer } from './http-answers.ts';
import { runStep } from './open-load.ts';
import { createRandom } from './schedule.ts';

const answer: HttpAnswer = {
  status: 200,
  bytes: Buffer.alloc(0),
  bodyStart: 0,
  bodyEnd: 0,
  isLast: false,
};

/** An exchange whose connections each answer after some time. */
function slowExchange(connections: number, answerMs: number): Exchange {
  let idle = connections;
  return {
    idle: () => idle,
    send(_text: string, onAnswer: OnAnswer) {
      if (idle === 0) return false;
      idle -= 1;
      setTimeout(() => {
        idle += 1;
        onAnswer(answer);
      }, answerMs);
      return true;
    },
    close() {},
  };
}

function step(exchange: Exchange, ratePerSecond: number, kind?: string) {
  const windows: string[] = [];
  const result = runStep(exchange, {
    ratePerSecond,
    seconds: 0.3,
    leadSeconds: 0.05,
    hopelessSeconds: 0.15,
    random: createRandom(3),
    request: () => ({ text: '', judge: () => kind }),
    onWindow: (at) => windows.push(at),
  });
  return result.then((figures) => ({ figures, windows }));
}

describe('a step of open load', () => {
  test('tells the latency of a server that keeps up', async () => {
    const { figures, windows } = await step(slowExchange(64, 10), 300);
    assert.deepEqual(windows, ['begin', 'end']);
    assert.deepEqual(figures.errors, {});
    assert.equal(figures.givenUp, false);
    assert.ok(figures.p50Us >= 9000 && figures.p50Us < 100_000, String(figures.p50Us));
  });

  test('charges a server that falls behind for the time since requests were due', async () => {
    // One connection of 20 ms a request takes at most 50 a second of the 90 that come.
    const { figures } = await step(slowExchange(1, 20), 90);
    assert.ok(figures.p99Us > 60_000, String(figures.p99Us));
    assert.ok(figures.achievedPerSecond < figures.offeredPerSecond);
  });

  test('gives up what is hopeless, and says so', async () => {
    const { figures } = await step(slowExchange(1, 20), 2000);
    assert.equal(figures.givenUp, true);
    assert.equal(Object.keys(figures.errors).length, 1);
    assert.ok(figures.p99Us > 100_000, String(figures.p99Us));
  });

  test('counts wrong answers by their kind', async () => {
    const { figures } = await step(slowExchange(64, 1), 200, '503 overloaded');
    assert.ok((figures.errors['503 overloaded'] ?? 0) > 20);
    assert.equal(figures.achievedPerSecond, 0);
  });
});
