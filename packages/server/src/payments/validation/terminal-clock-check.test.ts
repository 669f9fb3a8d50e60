import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../platform/index.ts';
import { createTerminalClockCheck } from './check-sale-terms.ts';

test('only a date far from today is counted', async () => {
  const metrics = createMetrics();
  const clock = { now: () => Date.parse('2026-11-22T23:30:00Z') };
  const terminalClock = createTerminalClockCheck({ clock, metrics });
  const countAfter = async (date: string | undefined): Promise<number | undefined> => {
    terminalClock.recordDate(date);
    const counter = metrics.registry.getSingleMetric('switchyard_terminal_clock_wrong_total');
    return (await counter?.get())?.values[0]?.value;
  };
  for (const near of ['261122', '261121', '261123', '261124', undefined]) {
    assert.equal(await countAfter(near), 0, near);
  }
  for (const [index, far] of ['261119', '261126', '251122', '260301'].entries()) {
    assert.equal(await countAfter(far), index + 1, far);
  }
});
