import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importDiagram } from './modules.ts';

test('the diagram of imports leaves out arrows that follow from others', () => {
  const diagram = importDiagram({
    audit: [],
    catalog: ['audit'],
    qr: ['catalog', 'audit'],
    logs: [],
  });
  assert.deepEqual(diagram.split('\n').slice(2, -1), ['  catalog --> audit', '  qr --> catalog']);
});
