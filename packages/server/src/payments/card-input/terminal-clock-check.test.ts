import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../platform/index.ts';
import { createTerminalClock } from './terminal-clock-check.ts';

test('a date that is far from the day is counted, and nothing else', async () => {
  const metrics = createMetrics();
  const clock = { now: () => Date.parse('2026-11-22T23:30:00Z') };
  const terminals = createTerminalClock({ clock, metrics });
  for (const near of ['261122', '261121', '261123', '261124', undefined]) {
    assert.equal(terminals.note(near), true, near);
  }
  for (const far of ['261119', '261126', '251122', '260301']) {
    assert.equal(terminals.note(far), false, far);
  }
  const { values } = (await metrics.registry.getMetricsAsJSON())[0] as {
    values: { value: number }[];
  };
  assert.equal(values[0]?.value, 4);
});
