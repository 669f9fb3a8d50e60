import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layOutTable, slopeOfPoints } from './report-table.ts';

test('figures are aligned in columns, with their targets and results', () => {
  const text = layOutTable([
    {
      title: 'Speed',
      figures: [
        { name: 'knee', value: '1,250/s', target: 'at least 1,000/s', reached: true },
        { name: 'p99', value: '61.0 ms', target: 'under 50 ms', reached: false },
        { name: 'seed', value: '7' },
      ],
    },
    { title: 'Nothing', figures: [] },
  ]);
  assert.equal(
    text,
    [
      'Speed',
      '  knee   1,250/s   at least 1,000/s   ✓',
      '  p99    61.0 ms   under 50 ms        ✗ missed',
      '  seed         7',
      '',
    ].join('\n'),
  );
});

test('the slope of a line is computed from its points', () => {
  const points = [0, 1, 2, 3].map((x) => ({ x, y: 100 + 2 * x + (x % 2 === 0 ? 0.1 : -0.1) }));
  assert.ok(Math.abs(slopeOfPoints(points) - 2) < 0.1);
  assert.equal(slopeOfPoints([{ x: 1, y: 5 }]), 0);
});
