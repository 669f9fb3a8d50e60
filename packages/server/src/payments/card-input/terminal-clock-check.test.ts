import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../platform/index.ts';
import { createTerminalClockCheck } from '../validation/check-sale-terms.ts';

test('only a date far from today is counted', async () => {
  const metrics = createMetrics();
  const clock = { now: () => Date.parse('2026-11-22T23:30:00Z') };
  const terminals = createTerminalClockCheck({ clock, metrics });
  for (const near of ['261122', '261121', '261123', '261124', undefined]) {
    assert.equal(terminals.checkDate(near), true, near);
  }
  for (const far of ['261119', '261126', '251122', '260301']) {
    assert.equal(terminals.checkDate(far), false, far);
  }
  const { values } = (await metrics.registry.getMetricsAsJSON())[0] as {
    values: { value: number }[];
  };
  assert.equal(values[0]?.value, 4);
});
