import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runStep } from './fixed-rate-load.ts';
import type { HttpResponse } from './http-text.ts';
import type { HttpsConnections, OnResponse } from './https-connections.ts';
import { createRandom } from './request-schedule.ts';

const answer: HttpResponse = {
  status: 200,
  bytes: Buffer.alloc(0),
  bodyStart: 0,
  bodyEnd: 0,
  isLast: false,
};

/** Goes on as far as it is waited for, and not with the machine, which may stand still for seconds. */
function createTime() {
  let now = 0;
  let planned: { at: number; happen(): void }[] = [];
  return {
    now: () => now,
    after(ms: number, happen: () => void): void {
      planned.push({ at: now + ms, happen });
    },
    async pause(ms: number): Promise<void> {
      now += ms;
      const due = planned.filter(({ at }) => at <= now);
      planned = planned.filter(({ at }) => at > now);
      for (const { happen } of due) happen();
    },
  };
}

type Time = ReturnType<typeof createTime>;

/** An exchange whose connections each answer after some time. */
const slowExchange =
  (connections: number, answerMs: number) =>
  (time: Time): HttpsConnections => {
    let idle = connections;
    return {
      idle: () => idle,
      send(_text: string, onAnswer: OnResponse) {
        if (idle === 0) return false;
        idle -= 1;
        time.after(answerMs, () => {
          idle += 1;
          onAnswer(answer);
        });
        return true;
      },
      close() {},
    };
  };

function step(exchange: (time: Time) => HttpsConnections, ratePerSecond: number, kind?: string) {
  const windows: string[] = [];
  const time = createTime();
  const result = runStep(exchange(time), {
    time,
    ratePerSecond,
    seconds: 0.3,
    leadSeconds: 0.05,
    hopelessSeconds: 0.15,
    random: createRandom(3),
    request: () => ({ text: '', faultOf: () => kind }),
    onWindow: (at) => windows.push(at),
  });
  return result.then((figures) => ({ figures, windows }));
}

describe('load at a fixed rate', () => {
  test('the load test reports the latency of a server that handles the rate', async () => {
    const { figures, windows } = await step(slowExchange(64, 10), 300);
    assert.deepEqual(windows, ['begin', 'end']);
    assert.deepEqual(figures.errors, {});
    assert.equal(figures.givenUp, false);
    assert.ok(figures.p50Us >= 9000 && figures.p50Us < 12_000, String(figures.p50Us));
  });

  test('the latency of a slow server includes the time since each request was due', async () => {
    // One connection of 20 ms a request takes at most 50 a second of the 90 that come.
    const { figures } = await step(slowExchange(1, 20), 90);
    assert.ok(figures.p99Us > 60_000, String(figures.p99Us));
    assert.ok(figures.achievedPerSecond < figures.offeredPerSecond);
  });

  test('the load test stops when the server is too slow, and counts the requests that it gave up', async () => {
    const { figures } = await step(slowExchange(1, 20), 2000);
    assert.equal(figures.givenUp, true);
    assert.equal(Object.keys(figures.errors).length, 1);
    assert.ok(figures.p99Us > 100_000, String(figures.p99Us));
  });

  test('wrong responses are counted by kind', async () => {
    const { figures } = await step(slowExchange(64, 1), 200, '503 overloaded');
    assert.ok((figures.errors['503 overloaded'] ?? 0) > 20);
    assert.equal(figures.achievedPerSecond, 0);
  });
});
