// A port in use is reported with its setting.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainPortInUse } from './listen-ports.ts';

const settings = { port: 8443, devicePort: 9021, metricsPort: 9464 };
const portInUse = (port: number) =>
  Object.assign(new Error(`listen EADDRINUSE 127.0.0.1:${port}`), { code: 'EADDRINUSE', port });

test('a port in use is reported with its setting', () => {
  for (const [port, name] of [
    [8443, 'SWITCHYARD_PORT'],
    [9021, 'SWITCHYARD_DEVICE_PORT'],
    [9464, 'SWITCHYARD_METRICS_PORT'],
  ] as const) {
    assert.deepEqual(
      (explainPortInUse(portInUse(port), settings) as Error).message,
      `Port ${port} is in use by another program. Stop that program, or set ${name} to a free port.`,
    );
  }
});

test('another error stays unchanged', () => {
  const fault = new Error('no room');
  assert.equal(explainPortInUse(fault, settings), fault);
  assert.equal(explainPortInUse(undefined, settings), undefined);
});
