import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorFigure, figure, layOutTable, noneFigure, slopeOfPoints } from './report-table.ts';

test('figures are aligned in columns, with their targets and results', () => {
  const text = layOutTable([
    {
      title: 'Speed',
      figures: [
        figure('knee', 1250, 'perSecond', { atLeast: 1000 }),
        figure('p99', 61_000, 'milliseconds', { under: 50_000 }),
        figure('a small run', 350, 'mebibytes', { under: 400, isJudged: false }),
        noneFigure('missed', 2),
        errorFigure('errors', [{ errors: { lost: 1 } }, { errors: { lost: 2 } }]),
        { label: 'seed', value: '7' },
      ],
    },
    { title: 'Nothing', figures: [] },
  ]);
  assert.equal(
    text,
    [
      'Speed',
      '  knee           1,250/s   at least 1,000/s   ✓',
      '  p99            61.0 ms   under 50.0 ms      ✗ missed',
      '  a small run    350 MiB   under 400 MiB',
      '  missed               2   none               ✗ missed',
      '  errors        3 × lost   none               ✗ missed',
      '  seed                 7',
      '',
    ].join('\n'),
  );
});

test('the slope of a line is computed from its points', () => {
  const points = [0, 1, 2, 3].map((x) => ({ x, y: 100 + 2 * x + (x % 2 === 0 ? 0.1 : -0.1) }));
  assert.ok(Math.abs(slopeOfPoints(points) - 2) < 0.1);
  assert.equal(slopeOfPoints([{ x: 1, y: 5 }]), 0);
});
