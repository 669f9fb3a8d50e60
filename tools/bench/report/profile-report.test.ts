import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceNameOf, summarizeProfile } from './profile-report.ts';

test('self times are summed by function and by source, without idle time', () => {
  const frame = (functionName: string, url: string) => ({ functionName, url, lineNumber: 9 });
  const report = summarizeProfile({
    nodes: [
      { id: 1, callFrame: frame('(root)', ''), children: [2, 3, 4] },
      {
        id: 2,
        callFrame: frame('sale', 'file:///x/packages/server/src/payments/sale/process-sale.ts'),
      },
      { id: 3, callFrame: frame('(idle)', '') },
      {
        id: 4,
        callFrame: frame('sale', 'file:///x/packages/server/src/payments/sale/process-sale.ts'),
      },
      { id: 5, callFrame: frame('(garbage collector)', '') },
    ],
    samples: [2, 3, 4, 5, 5],
    timeDeltas: [100, 900, 50, 25, 25],
  });
  assert.deepEqual(report.functions, [
    { name: 'sale payments/sale/process-sale.ts:10', selfUs: 150, share: 0.75 },
    { name: '(garbage collector) native', selfUs: 50, share: 0.25 },
  ]);
  assert.equal(report.packages[1]?.name, '(garbage collector)');
});

test('sources have short names', () => {
  assert.equal(sourceNameOf('file:///a/node_modules/fastify/lib/reply.js'), 'fastify');
  assert.equal(sourceNameOf('file:///a/node_modules/@x/y/z.js'), '@x/y');
  assert.equal(sourceNameOf('file:///a/packages/emv/src/tlv.ts'), 'emv/src/tlv.ts');
  assert.equal(sourceNameOf('node:internal/tls'), 'node:internal/tls');
});
